package compare

import (
	"github.com/tensortap/tensortap/analysis/report"
	"github.com/tensortap/tensortap/analysis/rows"
)

// hiddenOf are the parts of a run's models that ran where no hook is called, in the order in which they were met.
func hiddenOf(run *rows.Run) (parts []report.Hidden) {
	recorded := map[uint32]int{} // steps of a rank
	for i := range run.Steps {
		recorded[run.Steps[i].Rank]++
	}
	type part struct{ reason, subject string }
	type partOfRank struct {
		part

		rank uint32
	}
	places := map[part]int{}
	ranks, steps := map[partOfRank]bool{}, map[part]map[rows.Place]bool{}
	for i := range run.Unseen {
		u := &run.Unseen[i]
		if !report.Hides(u.Reason) {
			continue
		}
		of := part{u.Reason, u.Subject}
		at, known := places[of]
		if !known {
			at = len(parts)
			places[of], steps[of] = at, map[rows.Place]bool{}
			parts = append(parts, report.Hidden{Reason: u.Reason, Subject: u.Subject})
		}
		if ofRank := (partOfRank{of, u.Rank}); !ranks[ofRank] {
			ranks[ofRank] = true
			parts[at].Ranks++
			parts[at].Recorded += recorded[u.Rank]
		}
		steps[of][rows.Place{Rank: u.Rank, Step: u.Step}] = true
		parts[at].Steps = len(steps[of])
	}
	return parts
}
