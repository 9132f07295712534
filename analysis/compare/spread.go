package compare

import (
	"context"

	"github.com/tensortap/tensortap/analysis/judge"
	"github.com/tensortap/tensortap/analysis/rows"
)

// Spread is how far benches lie apart at each site: the errors of all others against the first. Benches pair by the
// numbers of ranks and steps and by the names of sites. Of fewer than three nothing is said.
func Spread(ctx context.Context, source rows.Source, benches []*rows.Run) (map[uint64]judge.Band, error) {
	if len(benches) < judge.BandRuns {
		return nil, nil
	}
	spread := judge.NewSpread()
	for _, other := range benches[1:] {
		for _, some := range commonPlaces(benches[0], other) {
			base, err := source.Tensors(ctx, benches[0], some)
			if err != nil {
				return nil, err
			}
			others, err := source.Tensors(ctx, other, some)
			if err != nil {
				return nil, err
			}
			for at, tensors := range base {
				addSpread(spread, tensors, others[at], other.ID)
			}
		}
	}
	return spread.Bands(), nil
}

// commonPlaces are the places of both runs, cut into parts that fit into memory.
func commonPlaces(base, other *rows.Run) [][]rows.Place {
	weight, others := base.Weights(), other.Weights()
	var common []rows.Place
	for i := range base.Steps {
		at := rows.Place{Rank: base.Steps[i].Rank, Step: base.Steps[i].Step}
		if _, both := others[at]; both {
			common = append(common, at)
		}
	}
	return rows.Windows(common, func(at rows.Place) uint64 { return weight[at] + others[at] })
}

func addSpread(spread *judge.Spread, base, other *rows.Tensors, run uint64) {
	if other.Len() == 0 {
		return
	}
	bySite := make(map[uint64][]int, other.Len())
	for i, site := range other.SiteID {
		bySite[site] = append(bySite[site], i)
	}
	for i, site := range base.SiteID {
		for _, k := range bySite[site] {
			one, two := base.At(i), other.At(k)
			spread.Add(&one, &two, run)
		}
	}
}
