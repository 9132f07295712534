package msprobe

import (
	"testing"

	"github.com/tensortap/tensortap/schemas"
)

// rows is everything that a source yields.
type rows struct {
	messages []schemas.Message
	ops      []schemas.OpRow
	sites    []schemas.SiteRow
	layouts  []schemas.LayoutRow
	stacks   []schemas.StackRow
	programs []schemas.ProgramRow
	calls    []schemas.ProgramStackRow
	steps    []schemas.StepRow
	tensors  []schemas.TensorRow
	payloads []schemas.PayloadRow
	ranks    []schemas.RankRow
	problems Problems
}

func decode[R any, P schemas.Row[R]](tb testing.TB, to *[]R, m schemas.Message) {
	tb.Helper()
	var err error
	if *to, err = schemas.AppendRows[R, P](*to, m); err != nil {
		tb.Fatalf("decode %s: %v", m.ID(), err)
	}
}

func (r *rows) add(tb testing.TB, m schemas.Message) {
	tb.Helper()
	r.messages = append(r.messages, m)
	switch m.Header.Kind {
	case "op":
		decode(tb, &r.ops, m)
	case "site":
		decode(tb, &r.sites, m)
	case "layout":
		decode(tb, &r.layouts, m)
	case "stack":
		decode(tb, &r.stacks, m)
	case "program":
		decode(tb, &r.programs, m)
	case "program_stack":
		decode(tb, &r.calls, m)
	case "step":
		decode(tb, &r.steps, m)
	case "tensor":
		decode(tb, &r.tensors, m)
	case "payload":
		decode(tb, &r.payloads, m)
	case "rank":
		decode(tb, &r.ranks, m)
	default:
		tb.Fatalf("message of kind %q", m.Header.Kind)
	}
}

// readAll reads the dump in dir with that many rows per batch.
func readAll(tb testing.TB, dump Dump, rowsPerBatch int) rows {
	tb.Helper()
	opt := DefaultOptions("a run")
	opt.RowsPerBatch = rowsPerBatch
	source, err := Open(dump, opt)
	if err != nil {
		tb.Fatalf("Open(%s) = %v", dump.Dir, err)
	}
	var all rows
	for m, err := range source.Batches(tb.Context()) {
		if err != nil {
			tb.Fatalf("Batches(%s) = %v", dump.Dir, err)
		}
		all.add(tb, m)
	}
	all.problems = source.Problems()
	if len(all.steps) != 1 {
		tb.Fatalf("%d rows of step, want 1", len(all.steps))
	}
	return all
}
