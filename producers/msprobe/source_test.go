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

func decode[R any, P schemas.Row[R]](t testing.TB, to *[]R, m schemas.Message) {
	t.Helper()
	var err error
	if *to, err = schemas.AppendRows[R, P](*to, m); err != nil {
		t.Fatalf("decode %s: %v", m.ID(), err)
	}
}

func (r *rows) add(t testing.TB, m schemas.Message) {
	t.Helper()
	r.messages = append(r.messages, m)
	switch m.Header.Kind {
	case "op":
		decode(t, &r.ops, m)
	case "site":
		decode(t, &r.sites, m)
	case "layout":
		decode(t, &r.layouts, m)
	case "stack":
		decode(t, &r.stacks, m)
	case "program":
		decode(t, &r.programs, m)
	case "program_stack":
		decode(t, &r.calls, m)
	case "step":
		decode(t, &r.steps, m)
	case "tensor":
		decode(t, &r.tensors, m)
	case "payload":
		decode(t, &r.payloads, m)
	case "rank":
		decode(t, &r.ranks, m)
	default:
		t.Fatalf("message of kind %q", m.Header.Kind)
	}
}

// readAll reads the dump in dir with that many rows per batch.
func readAll(t testing.TB, dump Dump, rowsPerBatch int) rows {
	t.Helper()
	opt := DefaultOptions("a run")
	opt.RowsPerBatch = rowsPerBatch
	source, err := Open(dump, opt)
	if err != nil {
		t.Fatalf("Open(%s) = %v", dump.Dir, err)
	}
	var all rows
	for m, err := range source.Batches(t.Context()) {
		if err != nil {
			t.Fatalf("Batches(%s) = %v", dump.Dir, err)
		}
		all.add(t, m)
	}
	all.problems = source.Problems()
	if len(all.steps) != 1 {
		t.Fatalf("%d rows of step, want 1", len(all.steps))
	}
	return all
}
