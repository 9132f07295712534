package corpus

import (
	"math"
	"slices"
)

// by multiplies keys of a row.
func by(factor float64, keys ...string) func(*Node) {
	return func(n *Node) {
		for _, key := range keys {
			if number(n.Get(key)) {
				n.Set(key, decimal(value(n, key)*factor))
			}
		}
		again(n)
	}
}

// again gives a row with a checksum another one.
func again(n *Node) {
	if sum := n.Get("md5"); sum != nil {
		n.Set("md5", digest(sum.Text, fingerprint(n)))
	}
}

// with gives keys of a row these numbers.
func with(pairs map[string]float64) func(*Node) {
	return func(n *Node) {
		for _, key := range statistics() {
			if v, ok := pairs[key]; ok {
				n.Set(key, decimal(v))
			}
		}
		again(n)
	}
}

func all() []string { return []string{"Max", "Min", "Mean", "Norm"} }

// noise is what another kernel or another weight makes of a row.
func noise(relative float64) func(*Node) {
	return func(n *Node) { disturb(n, relative, fingerprint(n)) }
}

// unchanged is for what no statistic shows.
func unchanged(*Node) {}

const (
	mlp1 = "Functional.linear.13.forward"                      // layers.1.mlp.down_proj
	silu = "Functional.silu.1.forward"                         // layers.1.mlp.act_fn
	sdpa = "Functional.scaled_dot_product_attention.1.forward" // of layers.1
	add2 = "Tensor.__add__.17.forward"                         // the last of layers.2, its output
)

func valueFaults() []recipe { return slices.Concat(weightFaults(), kernelFaults(), outputFaults()) }

// weightFaults are wrong before the first op runs.
func weightFaults() []recipe {
	return []recipe{
		{id: "weight-scaled-mix", what: "weight of layers.1.self_attn.o_proj × 1.02", base: llama, steps: []int{0}, make: func(m *making) {
			m.change(0, "Functional.linear.10.forward", by(1.02, all()...), "input 1")
		}},
		{id: "weight-scaled-L0", what: "weight of layers.1.mlp.up_proj × 0.95", base: llamaM, make: func(m *making) {
			m.change(0, "Module.model.layers.1.mlp.up_proj.Linear.forward.0", by(0.95, all()...), "parameter weight")
		}},
		{id: "weight-one-element", what: "one element of the weight of layers.1.mlp.down_proj is ten times the greatest", base: llamaA, make: func(m *making) {
			m.change(0, mlp1, by(10, "Max"), "input 1")
		}},
		{id: "weight-elements-swapped", what: "two elements of the weight of layers.1.mlp.down_proj swapped: its own statistics are the same", base: llamaA, make: func(m *making) {
			m.error = 1e-3
			m.change(0, mlp1, unchanged, "input 1")
		}},
		{id: "output-elements-swapped", what: "two elements of the last updated weight swapped: nothing recorded is computed from it", base: llamaA, hidden: "the same four statistics: the order of elements is in none of them", make: func(m *making) {
			m.alter("Tensor.add_.38.forward", unchanged, "output 0")
		}},
	}
}

// kernelFaults are ops that compute something else.
func kernelFaults() []recipe {
	first := []int{0}
	return []recipe{
		{id: "inputs-and-output-scaled", what: "inputs × 1.3 and output × 3 of the product in layers.1.mlp", base: llama, steps: first, make: func(m *making) {
			m.apply(0, "Tensor.__mul__.19.forward", append(each(by(1.3, all()...), "input 0", "input 1"), fault{"output 0", by(3, all()...)}))
		}},
		{id: "sign-flipped", what: "output of attention in layers.1 negated", base: llama, steps: first, make: func(m *making) {
			m.change(0, sdpa, func(n *Node) {
				with(map[string]float64{"Max": -value(n, "Min"), "Min": -value(n, "Max"), "Mean": -value(n, "Mean")})(n)
			}, "output 0")
		}},
		{id: "clamp-added", what: "output of layers.1.mlp.down_proj clamped at half its range", base: llama, steps: first, make: func(m *making) {
			m.change(0, mlp1, func(n *Node) { by(0.5, "Max", "Min")(n); by(0.998, "Norm")(n) }, "output 0")
		}},
		{id: "mean-shifted", what: "a constant of a hundredth of the deviation added to the output of layers.1.mlp.down_proj", base: llama, steps: first, make: func(m *making) {
			m.change(0, mlp1, func(n *Node) {
				c := 0.01 * value(n, "Norm") / math.Sqrt(elements(n))
				with(map[string]float64{"Max": value(n, "Max") + c, "Min": value(n, "Min") + c, "Mean": value(n, "Mean") + c})(n)
			}, "output 0")
		}},
		{id: "one-element", what: "one element of the output of layers.1.mlp.down_proj wrong: only the maximum tells", base: llama, steps: first, make: func(m *making) {
			m.change(0, mlp1, by(1.5, "Max"), "output 0")
		}},
	}
}

// outputFaults are ops that do not compute what they should at all.
func outputFaults() []recipe {
	first := []int{0}
	return []recipe{
		{id: "stuck", what: "output of silu in layers.1 is one constant", base: llama, steps: first, make: func(m *making) {
			m.change(0, silu, func(n *Node) {
				const c = 0.125
				with(map[string]float64{"Max": c, "Min": c, "Mean": c, "Norm": c * math.Sqrt(elements(n))})(n)
			}, "output 0")
		}},
		{id: "zeroed", what: "output of silu in layers.1 is zero", base: llama, steps: first, make: func(m *making) {
			m.change(0, silu, with(map[string]float64{"Max": 0, "Min": 0, "Mean": 0, "Norm": 0}), "output 0")
		}},
		{id: "layer-skipped", what: "layers.2 gives what it was given", base: llama, steps: first, make: func(m *making) {
			given := m.Problem.Run.Part(0, 0).At("Module.model.layers.2.LlamaDecoderLayer.forward.0", "input", "0").Node.Clone()
			m.change(0, add2, func(n *Node) { take(n, given) }, "output 0")
		}},
		{id: "layers-exchanged", what: "weights of layers.1 and layers.2 loaded the wrong way round", base: llama, steps: first, make: exchangeLayers},
		{id: "wrong-seed", what: "another dropout mask in the attention of layers.1: same inputs, other output", base: llama, steps: first, make: func(m *making) {
			m.change(0, sdpa, noise(0.3), "output 0")
		}},
		{id: "huge", what: "output of layers.1.mlp.down_proj up to 1e38, its norm beyond float32", base: llama, steps: first, make: func(m *making) {
			m.change(0, mlp1, with(map[string]float64{"Max": 1e38, "Min": -1e38, "Norm": math.Inf(1)}), "output 0")
		}},
		{id: "small-error", what: "a kernel in layers.1 off by one in a thousand", base: llama, steps: first, make: func(m *making) {
			m.error = 1e-3
			m.change(0, mlp1, noise(1e-3), "output 0")
		}},
	}
}

// exchangeLayers gives each of two layers the other's weights.
func exchangeLayers(m *making) {
	part := m.Problem.Run.Part(0, 0)
	f := m.flow(part)
	for i, name := range []string{"q_proj", "k_proj", "v_proj", "o_proj"} {
		a := part.At("Module.model.layers.1.self_attn."+name+".Linear.forward.0", "parameter", "weight").Node.Clone()
		b := part.At("Module.model.layers.2.self_attn."+name+".Linear.forward.0", "parameter", "weight").Node.Clone()
		f.wrong(a, b)
		f.wrong(b, a)
		if i == 0 {
			m.touch(Site{0, 0, "Functional.linear.7.forward", "input", "1"})
			m.began(0, "Functional.linear.7.forward")
		}
	}
	f.run(part, "")
}
