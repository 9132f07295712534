package store

import (
	"cmp"
	"slices"

	"github.com/tensortap/tensortap/analysis/rows"
	"github.com/tensortap/tensortap/schemas"
)

// visibleUnseen is what ranks did not observe in steps that were not replaced, and was not left out on purpose, by rank,
// step, reason and subject.
func visibleUnseen(run uint64, all []unseen, e epochs) []schemas.UnseenRow {
	return unseenFor(run, all, e, func(reason string) bool { return !onPurpose(reason) })
}

// leftOut are the counts of steps that were left out on purpose.
func leftOut(run uint64, all []unseen, e epochs) []schemas.UnseenRow {
	return unseenFor(run, all, e, func(reason string) bool {
		return reason == rows.StepNotWanted || reason == rows.BeyondTheBudget || reason == rows.OnlyTheLoss
	})
}

func unseenFor(run uint64, all []unseen, e epochs, wanted func(reason string) bool) []schemas.UnseenRow {
	var visible []schemas.UnseenRow
	for _, u := range all {
		if !wanted(u.reason) || slices.Contains(e.replaced[u.place], u.epoch) {
			continue
		}
		visible = append(visible, schemas.UnseenRow{
			RunID: run, Rank: u.place.Rank, Step: u.place.Step, Epoch: u.epoch, Reason: u.reason, Subject: u.subject, UnseenCount: u.count,
		})
	}
	slices.SortFunc(visible, func(a, b schemas.UnseenRow) int {
		return cmp.Or(cmp.Compare(a.Rank, b.Rank), cmp.Compare(a.Step, b.Step), cmp.Compare(a.Reason, b.Reason),
			cmp.Compare(a.Subject, b.Subject), cmp.Compare(a.Epoch, b.Epoch))
	})
	return visible
}

// onPurpose says whether a reason is that somebody asked for it.
func onPurpose(reason string) bool {
	return reason == "filtered" || reason == "sampled" || reason == rows.StepNotWanted || reason == rows.BeyondTheBudget
}
