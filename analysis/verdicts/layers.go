package verdicts

import (
	"github.com/tensortap/tensortap/analysis/result"
	"github.com/tensortap/tensortap/schemas"
)

// layers are the errors of a place by layer, of what was measured on both sides.
func (u *Unit) layers(id schemas.Identity, found []result.LayerErrors) ([]schemas.Message, error) {
	batches := newBatches[schemas.LayerErrorRow](id)
	for i := range found {
		l := &found[i]
		row := schemas.LayerErrorRow{
			RunID: id.RunID, Rank: id.Rank, Epoch: id.Epoch, Batch: batches.id.Batch, EventTimeNs: u.EventTimeNs,
			ComparisonID: u.Comparison, Step: u.At.Step, Generation: u.Generation, Provisional: bit(u.Provisional),
			Direction: l.Direction, LayerIndex: l.Index, Path: l.Path,
			PairedCount: l.PairedCount, DifferingCount: l.DifferingCount, NotFiniteCount: l.NotFiniteCount,
			GreatestError: known(l.Greatest), MedianError: known(l.Median), GreatestSiteID: l.GreatestSite,
		}
		if err := batches.add(&row); err != nil {
			return nil, err
		}
	}
	return batches.finish()
}
