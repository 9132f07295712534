package store

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tensortap/tensortap/analysis/rows"
	"github.com/tensortap/tensortap/schemas"
)

// ledger adds up what is known of one rank, as tap.completeness does.
type ledger struct {
	rows.Completeness
	missingRows, surplusRows uint64
	hookErrors, droppedRows  uint64 // of what was not observed
}

// ledgers are those of the ranks of a run.
type ledgers map[uint32]*ledger

func (l ledgers) of(rank uint32) *ledger {
	if l[rank] == nil {
		l[rank] = &ledger{Completeness: rows.Completeness{Rank: rank}}
	}
	return l[rank]
}

// balance holds what each rank promised against what is stored. Rows are held against each other epoch by epoch, as one
// epoch's surplus does not make up for another's loss. An epoch all of whose steps were replaced counts for nothing.
func balance(a *asked, e epochs, run *rows.Run) []rows.Completeness {
	all := ledgers{}
	for _, r := range run.Ranks {
		all.of(r.Rank)
	}
	if world := run.Described.WorldSize; world != nil {
		for rank := range *world {
			all.of(rank)
		}
	}
	for rank, count := range a.refused {
		all.of(rank).DeadLetters = count
	}
	for rank, count := range a.unstored {
		all.of(rank).UnstoredSteps = count
	}
	all.addEpochs(a, e.dropped())
	all.addSteps(e)
	all.addUnseen(a.unseen, e)
	missing := make([]rows.Completeness, 0, len(all))
	for _, rank := range slices.Sorted(maps.Keys(all)) {
		all[rank].UndefinedIDs = a.undefined[rank]
		missing = append(missing, all[rank].explained())
	}
	return missing
}

// kindsBeside stand beside a run, and make nobody a rank.
func kindsBeside() map[string]bool {
	kinds := map[string]bool{}
	for _, t := range schemas.Tables() {
		kinds[t.Kind()] = t.Beside
	}
	return kinds
}

// rowsOf are the rows of tensor of an epoch.
type rowsOf struct{ produced, stored uint64 }

func (l ledgers) addEpochs(a *asked, dropped map[producer]bool) {
	tensors, isBeside, isRank := map[producer]rowsOf{}, kindsBeside(), map[uint32]bool{}
	for i := range a.ranks {
		isRank[a.ranks[i].Rank] = true
	}
	for _, b := range a.batches {
		if dropped[b.producer] || isBeside[b.kind] && !isRank[b.rank] {
			continue
		}
		rank := l.of(b.rank)
		rank.Batches += b.count
		rank.MissingBatches += b.last + 1 - b.count
		if b.kind == tensorKind {
			t := tensors[b.producer]
			t.stored += b.rows
			tensors[b.producer] = t
		}
	}
	for i := range a.steps {
		of := producer{a.steps[i].Rank, a.steps[i].Epoch}
		if dropped[of] {
			continue
		}
		t := tensors[of]
		t.produced += a.steps[i].TensorCount
		tensors[of] = t
	}
	for of, t := range tensors {
		rank := l.of(of.rank)
		rank.Produced += t.produced
		rank.Stored += t.stored
		rank.missingRows += max(t.produced, t.stored) - t.stored
		rank.surplusRows += max(t.produced, t.stored) - t.produced
	}
}

func (l ledgers) addSteps(e epochs) {
	for i := range e.kept {
		step := &e.kept[i]
		rank := l.of(step.Rank)
		rank.Steps++
		rank.Dropped += step.DroppedCount
		if step.Complete == 0 {
			rank.IncompleteSteps++
		}
		if step.DropReason != "" && !slices.Contains(rank.DropReasons, step.DropReason) {
			rank.DropReasons = append(rank.DropReasons, step.DropReason)
		}
		if step.EventTimeNs != 0 && (rank.LastEventTimeNs == nil || *rank.LastEventTimeNs < step.EventTimeNs) {
			rank.LastEventTimeNs = &step.EventTimeNs
		}
	}
}

// addUnseen tells what was not observed. It makes nothing incomplete but for what was dropped or lost to errors of the
// observer's own hooks.
func (l ledgers) addUnseen(all []unseen, e epochs) {
	type reasonOf struct {
		rank   uint32
		reason string
	}
	counts := map[reasonOf]uint64{}
	for _, u := range all {
		if !slices.Contains(e.replaced[u.place], u.epoch) {
			counts[reasonOf{u.place.Rank, u.reason}] += u.count
		}
	}
	for of, count := range counts {
		rank, known := l[of.rank]
		if !known {
			continue
		}
		rank.Unseen = append(rank.Unseen, fmt.Sprintf("%s %d", of.reason, count))
		switch of.reason {
		case "hook error":
			rank.hookErrors += count
		case "dropped":
			rank.droppedRows += count
		}
	}
}

func (l *ledger) explained() rows.Completeness {
	slices.Sort(l.DropReasons)
	slices.Sort(l.Unseen)
	parts := []string{}
	say := func(count uint64, text string) {
		if count > 0 {
			parts = append(parts, strings.Replace(text, "#", fmt.Sprint(count), 1))
		}
	}
	if l.Stored == 0 && l.Steps == 0 {
		parts = append(parts, "nothing was stored")
	}
	say(l.MissingBatches, "# batches are missing")
	say(l.DeadLetters, "# messages could not be stored")
	say(l.missingRows, "# rows are missing")
	say(l.Dropped, "the rank dropped # ("+strings.Join(l.DropReasons, "; ")+")")
	say(max(l.droppedRows, l.Dropped)-l.Dropped, "# rows were dropped between steps")
	say(l.hookErrors, "# calls were lost to errors of hooks")
	say(l.IncompleteSteps, "# steps were cut short")
	say(l.surplusRows, "# rows are of steps that have not ended")
	say(l.UndefinedIDs, "# ids are not defined")
	say(l.UnstoredSteps, "# steps that were published are not stored")
	l.Explanation = strings.Join(parts, ", ")
	l.Complete = l.Explanation == ""
	return l.Completeness
}
