package corpus

import "math"

// shaped gives a row other sizes.
func shaped(sizes ...string) func(*Node) {
	return func(n *Node) {
		shape := list()
		for _, size := range sizes {
			shape.Items = append(shape.Items, Scalar(size))
		}
		n.Set("shape", shape)
	}
}

// nulled takes statistics of a row away, as one that was not measured.
func nulled(keys ...string) func(*Node) {
	return func(n *Node) {
		for _, key := range keys {
			n.Set(key, Scalar("null"))
		}
	}
}

// rounded is a row in another dtype, with its statistics as coarse.
func rounded(dtype string) func(*Node) {
	return func(n *Node) {
		n.Set("dtype", Quoted(dtype))
		for _, key := range all() {
			if number(n.Get(key)) {
				n.Set(key, decimal(float64(coarse(value(n, key)))))
			}
		}
		again(n)
	}
}

// coarse is the nearest number that bfloat16 has.
func coarse(v float64) float32 {
	bits := math.Float32bits(float32(v))
	return math.Float32frombits((bits + 0x7fff + bits>>16&1) &^ 0xffff)
}

func shapeFaults() []recipe {
	first := []int{0}
	return []recipe{
		{id: "input-transposed", what: "batch and sequence of the input of layers.1.mlp.down_proj exchanged", base: llama, steps: first, make: func(m *making) {
			m.apply(0, mlp1, []fault{{"input 0", shaped("128", "2", "688")}, {"output 0", shaped("128", "2", "256")}})
		}},
		{id: "dtype-of-one-op", what: "layers.1.mlp.down_proj computed in bfloat16", base: llama, steps: first, make: func(m *making) {
			m.error = 3e-3
			m.change(0, mlp1, rounded("torch.bfloat16"), "output 0")
		}},
		{id: "dtype-int64", what: "output of layers.1.mlp.down_proj is int64", base: llama, steps: first, make: func(m *making) {
			m.change(0, mlp1, func(n *Node) {
				n.Set("dtype", Quoted("torch.int64"))
				n.Set("Max", Scalar("0"))
				n.Set("Min", Scalar("0"))
				nulled("Mean", "Norm")(n)
			}, "output 0")
		}},
		{id: "shape-changed", what: "the output of layers.1.mlp.down_proj lacks its last token", base: llama, steps: first, make: func(m *making) {
			m.change(0, mlp1, func(n *Node) { shaped("2", "127", "256")(n); by(0.996, "Norm")(n) }, "output 0")
		}},
		{id: "requires-grad", what: "weight of layers.1.self_attn.q_proj frozen", base: llamaM, make: func(m *making) {
			m.alter("Module.model.layers.1.self_attn.q_proj.Linear.forward.0", func(n *Node) { n.Set("requires_grad", Scalar("false")) }, "parameter weight")
		}},
		{id: "empty-tensor", what: "output of layers.1.mlp.down_proj is empty", base: llama, steps: first, make: func(m *making) {
			m.change(0, mlp1, func(n *Node) { shaped("0", "128", "256")(n); nulled(all()...)(n) }, "output 0")
		}},
		{id: "two-statistics-null", what: "mean and norm of the output of layers.1.mlp.down_proj not measured in the problem, its maximum wrong", base: llama, steps: first, make: func(m *making) {
			m.change(0, mlp1, func(n *Node) { by(1.2, "Max")(n); nulled("Mean", "Norm")(n) }, "output 0")
		}},
		{id: "statistics-null", what: "the last updated weight not measured in the problem", base: llamaA, hidden: "the problem has no number there, and nothing follows from it", make: func(m *making) {
			m.alter("Tensor.add_.38.forward", nulled(all()...), "output 0")
		}},
		{id: "statistics-null-in-bench", what: "the last updated weight not measured in the bench", base: llamaA, hidden: "the bench has no number there, and nothing follows from it", make: func(m *making) {
			m.alter("Tensor.add_.38.forward", nulled(all()...), "output 0")
			m.exchange()
		}},
	}
}

// exchange makes the bench of the problem, and the other way round.
func (m *making) exchange() { m.Problem, m.Bench = m.Bench, m.Problem }
