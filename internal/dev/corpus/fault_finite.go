package corpus

import "math"

// nans makes every statistic of a row NaN, as one NaN in the tensor does.
func nans(n *Node) {
	nan := math.NaN()
	with(map[string]float64{"Max": nan, "Min": nan, "Mean": nan, "Norm": nan})(n)
}

// infinite puts one infinity into a tensor.
func infinite(sign int) func(*Node) {
	inf, key := math.Inf(sign), "Max"
	if sign < 0 {
		key = "Min"
	}
	return with(map[string]float64{key: inf, "Mean": inf, "Norm": math.Inf(1)})
}

// nan is what becomes of all that is computed from NaN.
func nan(n *Node, _ float64, _ string) { nans(n) }

func notFiniteFaults() []recipe {
	first := []int{0}
	finite := func(how func(*Node)) func(m *making) {
		return func(m *making) {
			m.spoil = nan
			m.change(0, mlp1, how, "output 0")
		}
	}
	return []recipe{
		{id: "nan", what: "NaN from layers.1.mlp.down_proj on", base: llama, steps: first, make: finite(nans)},
		{id: "nan-L0", what: "NaN from layers.1.mlp on", base: llamaM, make: func(m *making) {
			m.spoil = nan
			m.change(0, "Module.model.layers.1.mlp.down_proj.Linear.forward.0", nans, "output 0")
		}},
		{id: "nan-in-bench", what: "NaN from layers.1.mlp.down_proj on, in the bench only", base: llama, steps: first, make: func(m *making) {
			finite(nans)(m)
			m.exchange()
		}},
		{
			id: "nan-in-both", what: "NaN from the same output on, on both sides", base: llama, steps: first,
			hidden: "both are not finite in the same way", make: func(m *making) {
				finite(nans)(m)
				m.Bench = Side{Name: m.Problem.Name + " bench", Run: m.Problem.Run.Clone()}
			},
		},
		{id: "nan-in-both-earlier", what: "NaN on both sides, in the problem from silu of layers.1 on, in the bench four ops later", base: llama, steps: first, make: func(m *making) {
			finite(nans)(m)
			bench := Side{Name: m.Problem.Name + " bench", Run: m.Problem.Run}
			m.Problem.Run, m.Touched, m.Origin = m.Bench.Run.Clone(), nil, Origin{}
			m.change(0, silu, nans, "output 0")
			m.Bench = bench
		}},
		{id: "positive-infinity", what: "+Inf in the output of layers.1.mlp.down_proj", base: llama, steps: first, make: finite(infinite(1))},
		{id: "negative-infinity", what: "-Inf in the output of layers.1.mlp.down_proj", base: llama, steps: first, make: finite(infinite(-1))},
		{id: "infinity-against-nan", what: "NaN in the problem where the bench has +Inf", base: llama, steps: first, make: func(m *making) {
			finite(infinite(1))(m)
			bench := Side{Name: m.Problem.Name + " bench", Run: m.Problem.Run}
			m.Problem.Run, m.Touched, m.Origin = m.Bench.Run.Clone(), nil, Origin{}
			finite(nans)(m)
			m.Bench = bench
		}},
		{id: "norm-overflow", what: "norm of one output is infinite, its elements are not", base: llamaA, make: func(m *making) {
			m.alter(mlp1, with(map[string]float64{"Norm": math.Inf(1)}), "output 0")
		}},
		{id: "nan-in-parameter", what: "NaN in the weight of layers.1.mlp.down_proj", base: llama, steps: first, make: func(m *making) {
			m.spoil = nan
			m.change(0, mlp1, nans, "input 1")
		}},
		{id: "nan-in-gradient", what: "NaN first in the backward of silu in layers.1", base: llama, steps: first, make: func(m *making) {
			m.spoil = nan
			m.change(0, "Functional.silu.1.backward", nans, "output 0")
		}},
		{id: "nan-nested", what: "NaN in an output inside a tuple inside a tuple", base: shards, make: nestedNaN},
	}
}

// nestedNaN nests the outputs of one op on both sides before the fault is put in.
func nestedNaN(m *making) {
	const op = "Tensor.chunk.1.forward"
	bench := m.Bench.Run.Clone()
	for _, run := range []*Run{bench, m.Problem.Run} {
		for rank := range 2 {
			entry := run.Part(rank, 0).Ops().Get(op)
			entry.Set("output", list(entry.Get("output").Clone()))
		}
	}
	m.Bench = Side{Name: m.Problem.Name + " bench", Run: bench}
	m.spoil = nan
	m.change(1, op, nans, "output 0.1")
}
