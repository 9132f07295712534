package origin

import (
	"cmp"
	"slices"

	"github.com/tensortap/tensortap/analysis/rows"
	"github.com/tensortap/tensortap/schemas"
)

// StandingBefore names the ops, not modules nor what computes nothing, that only one run has and that stand directly before an op of the
// problem: behind the last op before it that both have. An op that only the problem has is such an op itself. The
// alignment is that of the programs of one place.
func StandingBefore(op uint64, alignment []schemas.AlignmentRow, definitions *rows.Definitions) []string {
	ordered := slices.SortedFunc(slices.Values(alignment), func(a, b schemas.AlignmentRow) int {
		return cmp.Compare(a.Position, b.Position)
	})
	at := slices.IndexFunc(ordered, func(r schemas.AlignmentRow) bool { return r.ProblemOpID == op })
	if op == 0 || at < 0 {
		return nil
	}
	begin := at
	for begin > 0 && !paired(&ordered[begin-1]) {
		begin--
	}
	var names []string
	for i := begin; i <= at; i++ {
		if name := standingAlone(&ordered[i], definitions); name != "" {
			names = append(names, name)
		}
	}
	return names
}

func paired(r *schemas.AlignmentRow) bool { return r.ProblemOpID != 0 && r.BenchOpID != 0 }

// standingAlone names an op of one run only; empty where it is paired or a module.
func standingAlone(r *schemas.AlignmentRow, definitions *rows.Definitions) string {
	if paired(r) {
		return ""
	}
	id, where := r.ProblemOpID, " only in problem"
	if id == 0 {
		id, where = r.BenchOpID, " only in bench"
	}
	op := definitions.Ops[id]
	switch {
	case op == nil:
		return where
	case op.Level == "module", schemas.ComputesNothing(op.Name):
		return ""
	}
	return op.Name + where
}
