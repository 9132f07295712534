package result

import (
	"cmp"
	"maps"
	"slices"

	"github.com/tensortap/tensortap/analysis/judge"
	"github.com/tensortap/tensortap/analysis/pair"
	"github.com/tensortap/tensortap/schemas"
)

// unpairedKey is an op of a place, and the reason that it is not judged.
type unpairedKey struct {
	op     uint64
	reason string
}

// unpairedOps are the ops of one place that one run has alone, or that cannot be judged.
type unpairedOps map[unpairedKey]*unpairedOp

type unpairedOp struct {
	side     string
	count    uint64
	position uint64
}

func (u unpairedOps) add(j *judge.Judged, names *names) {
	own := j.Own()
	key := unpairedKey{names.site(own.SiteID).OpID, j.Reason}
	known := u[key]
	if known == nil {
		u[key] = &unpairedOp{side: sideOf(j), count: 1, position: own.Seq}
		return
	}
	known.count++
	known.position = min(known.position, own.Seq)
}

func sideOf(j *judge.Judged) string {
	switch {
	case j.Paired():
		return "both"
	case j.InProblem:
		return "problem"
	}
	return "bench"
}

// topUnpaired keeps the first ones.
type topUnpaired struct {
	limit int
	rows  []unpairedRow // in their order
}

type unpairedRow struct {
	Unpaired
	op uint64
	at pair.Step
}

// wants says whether ops of that place can be among the first ones.
func (t *topUnpaired) wants(at pair.Step) bool {
	return len(t.rows) < t.limit || t.limit > 0 && at.Step <= t.rows[len(t.rows)-1].Step
}

// take adds the ops of a place.
func (t *topUnpaired) take(at pair.Step, ops unpairedOps, names *names) {
	if len(ops) == 0 || !t.wants(at) {
		return
	}
	for key, op := range maps.All(ops) {
		name := names.op(key.op).Name
		if name == "" {
			name = schemas.FormatID(key.op)
		}
		t.rows = append(t.rows, unpairedRow{op: key.op, at: at, Unpaired: Unpaired{
			Rank: at.Rank, Step: at.Step, Side: op.side, Op: name, Reason: key.reason, RowCount: op.count, Position: op.position,
		}})
	}
	slices.SortFunc(t.rows, compareUnpaired)
	t.rows = t.rows[:min(t.limit, len(t.rows))]
}

func compareUnpaired(a, b unpairedRow) int {
	return cmp.Or(cmp.Compare(a.Step, b.Step), cmp.Compare(a.Rank, b.Rank), cmp.Compare(a.Position, b.Position),
		cmp.Compare(a.Op, b.Op), cmp.Compare(a.Reason, b.Reason), cmp.Compare(a.Side, b.Side), cmp.Compare(a.op, b.op))
}

// named are the rows with their modules, each from its own run.
func (t *topUnpaired) named(names *names) []Unpaired {
	named := make([]Unpaired, len(t.rows))
	for i, row := range t.rows {
		named[i] = row.Unpaired
		named[i].Module = cmp.Or(names.op(row.op).ModulePath, names.op(names.parent(row.at, row.op, row.Side == "bench")).ModulePath)
	}
	return named
}
