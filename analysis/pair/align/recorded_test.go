package align_test

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/tensortap/tensortap/analysis/pair/align"
	"github.com/tensortap/tensortap/internal/dev/recorded"
	"github.com/tensortap/tensortap/producers/msprobe"
	"github.com/tensortap/tensortap/schemas"
)

// dump is the program of a recorded step, and the numbers of its ops.
type dump struct {
	ops     []align.Op
	names   []string
	parents []string
	numbers []string // all statistics of the op's tensors, as text; empty where it has none
}

// readDump reads step 0 of rank 0.
func readDump(t *testing.T, name string) dump {
	t.Helper()
	found, err := msprobe.Find(recorded.Unpack(t, name))
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range found.Dumps {
		if d.Step == 0 && d.Rank == 0 {
			return newDump(t, readRows(t, d))
		}
	}
	t.Fatalf("%s has no step 0 of rank 0", name)
	return dump{}
}

// rows are the rows of one dump.
type rows struct {
	ops     map[uint64]schemas.OpRow
	sites   map[uint64]schemas.SiteRow
	program []schemas.ProgramRow
	tensors []schemas.TensorRow
}

func readRows(t *testing.T, d msprobe.Dump) rows {
	t.Helper()
	source, err := msprobe.Open(d, msprobe.DefaultOptions("test"))
	if err != nil {
		t.Fatal(err)
	}
	r := rows{ops: map[uint64]schemas.OpRow{}, sites: map[uint64]schemas.SiteRow{}}
	for message, err := range source.Batches(context.Background()) {
		if err != nil {
			t.Fatal(err)
		}
		r.add(t, message)
	}
	slices.SortFunc(r.program, func(a, b schemas.ProgramRow) int { return cmp.Compare(a.Position, b.Position) })
	return r
}

func (r *rows) add(t *testing.T, message schemas.Message) {
	t.Helper()
	switch message.Header.Kind {
	case "op":
		for _, row := range decode[schemas.OpRow](t, message) {
			r.ops[row.OpID] = row
		}
	case "site":
		for _, row := range decode[schemas.SiteRow](t, message) {
			r.sites[row.SiteID] = row
		}
	case "program":
		r.program = append(r.program, decode[schemas.ProgramRow](t, message)...)
	case "tensor":
		r.tensors = append(r.tensors, decode[schemas.TensorRow](t, message)...)
	}
}

func decode[R any, P schemas.Row[R]](t *testing.T, message schemas.Message) []R {
	t.Helper()
	list, err := schemas.DecodeRows[R, P](message)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func newDump(t *testing.T, r rows) dump {
	t.Helper()
	numbers, given := map[uint64]string{}, map[uint64]uint64{}
	for i := range r.tensors {
		x := &r.tensors[i]
		site := r.sites[x.SiteID]
		given[site.OpID] ^= schemas.SiteID(x.LayoutID, site.Role, site.Path)
		numbers[site.OpID] += fmt.Sprintln(site.Role, site.Path, x.LayoutID, x.Measured, x.ElementCount, x.ValueMin, x.ValueMax, x.ValueMean, x.ValueL2)
	}
	var d dump
	in := map[uint64]bool{}
	for _, p := range r.program {
		d.add(r.ops[p.OpID], p.ParentOpID, false)
		d.ops[len(d.ops)-1].Signature = given[p.OpID]
		d.parents, d.numbers = append(d.parents, r.ops[p.ParentOpID].Name), append(d.numbers, numbers[p.OpID])
		in[p.OpID] = true
	}
	for _, p := range r.program {
		if p.ParentOpID != 0 && !in[p.ParentOpID] {
			d.add(r.ops[p.ParentOpID], 0, true)
			in[p.ParentOpID] = true
		}
	}
	return d
}

func (d *dump) add(row schemas.OpRow, parent uint64, absent bool) {
	d.names = append(d.names, row.Name)
	d.ops = append(d.ops, align.Op{
		ID: row.OpID, ParentID: parent, Level: row.Level, Prefix: row.Prefix, ModulePath: row.ModulePath,
		ClassOrAPI: row.ClassOrAPI, CallIndex: row.CallIndex, Phase: row.Phase, Absent: absent,
	})
}
