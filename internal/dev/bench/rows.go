package main

import (
	"math/rand/v2"

	"github.com/tensortap/tensortap/schemas"
)

// generator makes rows as a model's ranks do: the same tensors step after
// step, each with statistics around its own, which began as float32. Nothing
// repeats, so nothing compresses better than it would in earnest.
type generator struct {
	run, epoch uint64
	random     *rand.PCG
	row        schemas.TensorRow
	sites      []site
	seq        uint64
}

// site is a tensor of an op, and what its numbers are like.
type site struct {
	id, layout, elements uint64
	scale                float64
}

// Of a generated run.
const (
	sitesPerStep = 3000
	layouts      = 64
	rowGapNs     = 2_000 // between two observations
)

func newGenerator(run uint64, firstTimeNs int64) *generator {
	g := &generator{run: run, epoch: run ^ uint64(firstTimeNs), random: rand.NewPCG(run, 1)} //nolint:gosec // any number will do
	layout := make([]uint64, layouts)
	for i := range layout {
		layout[i] = g.random.Uint64()
	}
	tensors := rand.NewPCG(1, 2) // the same in every run
	for range sitesPerStep {
		v := tensors.Uint64()
		g.sites = append(g.sites, site{id: tensors.Uint64(), layout: layout[v%layouts], elements: 1 << (10 + v>>8%12), scale: 1e-3 * float64(1+v>>16%5000)})
	}
	g.row = schemas.TensorRow{
		RunID: run, Epoch: g.epoch, EventTimeNs: firstTimeNs,
		Measured: schemas.MeasuredMin | schemas.MeasuredMax | schemas.MeasuredMean | schemas.MeasuredM2 | schemas.MeasuredL2 | schemas.MeasuredL1 |
			schemas.MeasuredNaN | schemas.MeasuredPositiveInfinity | schemas.MeasuredNegativeInfinity | schemas.MeasuredZero,
	}
	return g
}

// next is the next row, of that batch. The row is good until the next call.
func (g *generator) next(batch uint64) *schemas.TensorRow {
	s := &g.sites[g.seq%sitesPerStep]
	r := &g.row
	r.Batch, r.Seq, r.Step = batch, g.seq, uint32(g.seq/sitesPerStep)
	r.EventTimeNs += rowGapNs
	r.SiteID, r.LayoutID, r.ElementCount = s.id, s.layout, s.elements
	r.ValueMin, r.ValueMax, r.ValueMean = -g.around(s.scale), g.around(s.scale), g.around(s.scale*1e-3)
	r.ValueM2, r.ValueL2, r.ValueL1 = g.around(s.scale*s.scale*float64(s.elements)), g.around(s.scale*100), g.around(s.scale*1000)
	r.ZeroCount = 0
	if s.layout%4 == 0 { // behind a ReLU, say
		r.ZeroCount = s.elements/2 + g.random.Uint64()%(s.elements/16)
	}
	g.seq++
	return r
}

// around is a number near v with a random mantissa.
func (g *generator) around(v float64) float64 {
	return float64(float32(v * (1 + float64(g.random.Uint64()>>40)*0x1p-26)))
}
