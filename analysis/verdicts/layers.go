package verdicts

import (
	"cmp"
	"math"
	"slices"

	"github.com/tensortap/tensortap/analysis/judge"
	"github.com/tensortap/tensortap/analysis/result"
	"github.com/tensortap/tensortap/schemas"
)

// layer is one layer of a place, in one direction.
type layer struct {
	direction string
	index     int32
	path      string
}

// layerErrors are the finite errors of a layer.
type layerErrors struct {
	row      schemas.LayerErrorRow
	errors   []float64
	greatest float64
}

// layers are the errors of a place by layer, of what was measured on both sides.
func (u *Unit) layers(id schemas.Identity, judged []judge.Judged, collected *result.Collector) ([]schemas.Message, error) {
	found := map[layer]*layerErrors{}
	for i := range judged {
		j := &judged[i]
		if !j.Paired() || j.Evidence == judge.EvidenceNone || j.Evidence == judge.EvidenceLiteral {
			continue
		}
		var l layer
		l.direction, l.index, l.path = collected.LayerOf(j.Problem.SiteID)
		if found[l] == nil {
			found[l] = &layerErrors{}
		}
		found[l].add(j)
	}
	batches := newBatches[schemas.LayerErrorRow](id)
	for _, l := range sorted(found) {
		row := found[l].finished()
		row.RunID, row.Rank, row.Epoch, row.Batch, row.EventTimeNs = id.RunID, id.Rank, id.Epoch, batches.id.Batch, u.EventTimeNs
		row.ComparisonID, row.Step, row.Generation, row.Provisional = u.Comparison, u.At.Step, u.Generation, bit(u.Provisional)
		row.Direction, row.LayerIndex, row.Path = l.direction, l.index, l.path
		if err := batches.add(row); err != nil {
			return nil, err
		}
	}
	return batches.finish()
}

// sorted gives messages the same rows in the same order each time.
func sorted(found map[layer]*layerErrors) []layer {
	layers := make([]layer, 0, len(found))
	for l := range found {
		layers = append(layers, l)
	}
	slices.SortFunc(layers, func(a, b layer) int {
		return cmp.Or(cmp.Compare(a.direction, b.direction), cmp.Compare(a.index, b.index), cmp.Compare(a.path, b.path))
	})
	return layers
}

func (l *layerErrors) add(j *judge.Judged) {
	l.row.PairedCount++
	if j.Differs {
		l.row.DifferingCount++
		if j.Numeric == judge.NumericNotFinite {
			l.row.NotFiniteCount++
		}
	}
	if math.IsNaN(j.Error) || math.IsInf(j.Error, 0) {
		return
	}
	if len(l.errors) == 0 || j.Error > l.greatest {
		l.greatest, l.row.GreatestSiteID = j.Error, j.Problem.SiteID
	}
	l.errors = append(l.errors, j.Error)
}

func (l *layerErrors) finished() *schemas.LayerErrorRow {
	if len(l.errors) > 0 {
		slices.Sort(l.errors)
		l.row.GreatestError = known(l.greatest)
		l.row.MedianError = known(l.errors[(len(l.errors)-1)/2])
	}
	return &l.row
}
