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
	differing  bool // one row in differsOnceIn differs from that of a run with the same random numbers
}

const differsOnceIn = 10_000

// drawAlike gives two runs the same numbers, but for what differs in the problem.
func (g *generator) drawAlike(problem bool) *generator {
	g.random, g.differing = rand.NewPCG(7, 7), problem
	return g
}

// site is a tensor of an op, and what its numbers are like.
type site struct {
	id, layout, elements uint64
	scale                float64
}

// Of a generated run.
const (
	sitesPerStep = 3000
	rowGapNs     = 2_000 // between two observations
)

// newGenerator makes rows of a model of the usual size.
func newGenerator(run uint64, firstTimeNs int64) *generator {
	return newModel(sitesPerStep).generator(run, firstTimeNs)
}

func (m *model) generator(run uint64, firstTimeNs int64) *generator {
	g := &generator{run: run, epoch: run ^ uint64(firstTimeNs), random: rand.NewPCG(run, 1)} //nolint:gosec // any number will do
	tensors := rand.NewPCG(1, 2)                                                             // the same in every run
	for i := range m.sites {
		v := tensors.Uint64()
		g.sites = append(g.sites, site{id: m.sites[i].SiteID, layout: m.layouts[v%uint64(len(m.layouts))].LayoutID, elements: 1 << (10 + v>>8%12), scale: 1e-3 * float64(1+v>>16%5000)})
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
	s := &g.sites[g.seq%uint64(len(g.sites))]
	r := &g.row
	r.Batch, r.Seq, r.Step = batch, g.seq, uint32(g.seq/uint64(len(g.sites)))
	r.EventTimeNs += rowGapNs
	r.SiteID, r.LayoutID, r.ElementCount = s.id, s.layout, s.elements
	r.ValueMin, r.ValueMax, r.ValueMean = -g.around(s.scale), g.around(s.scale), g.around(s.scale*1e-3)
	r.ValueM2, r.ValueL2, r.ValueL1 = g.around(s.scale*s.scale*float64(s.elements)), g.around(s.scale*100), g.around(s.scale*1000)
	r.ZeroCount = 0
	if s.layout%4 == 0 { // behind a ReLU, say
		r.ZeroCount = s.elements/2 + g.random.Uint64()%(s.elements/16)
	}
	if g.differing && g.seq%differsOnceIn == differsOnceIn-1 {
		r.ValueMax, r.ValueMean, r.ValueL2 = r.ValueMax*1.1, r.ValueMean*1.1, r.ValueL2*1.1
	}
	g.seq++
	return r
}

// around is a number near v with a random mantissa.
func (g *generator) around(v float64) float64 {
	return float64(float32(v * (1 + float64(g.random.Uint64()>>40)*0x1p-26)))
}
