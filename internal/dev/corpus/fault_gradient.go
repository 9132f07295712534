package corpus

import "strings"

func gradientFaults() []recipe {
	const vGradient = "Module.model.layers.2.self_attn.v_proj.Linear.parameters_grad.0"
	first := []int{0}
	return []recipe{
		{id: "gradient-scaled", what: "gradient of layers.2.self_attn.v_proj twice as large", base: llama, steps: first, make: func(m *making) {
			m.gradient(vGradient, 2)
		}},
		{id: "gradient-scaled-L0", what: "gradient of layers.2.self_attn.v_proj half as large", base: llamaM, make: func(m *making) {
			m.alter(vGradient, by(0.5, all()...), "parameter_gradient weight")
		}},
		{id: "loss-scaled", what: "gradient of the loss is 2, not 1", base: llamaA, make: func(m *making) {
			m.spoil = func(n *Node, _ float64, _ string) { by(2, all()...)(n) }
			m.change(0, "Functional.cross_entropy.0.backward", by(2, all()...), "input 0")
		}},
		{
			id: "gradient-missing", what: "layers.1.self_attn.k_proj gets no gradient and no update", base: llama, steps: first,
			hidden: "nothing of this step follows from it: the two ops are missing, and counted", make: func(m *making) {
				const op = "Module.model.layers.1.self_attn.k_proj.Linear.parameters_grad.0"
				part := m.Problem.Run.Part(0, 0)
				part.remove(op)
				part.removeCall("Tensor.add_", 11)
				m.touch(Site{0, 0, op, "parameter_gradient", "weight"})
			},
		},
		{id: "backward-kernel", what: "backward of silu in layers.1 wrong", base: llama, steps: first, make: func(m *making) {
			m.change(0, "Functional.silu.1.backward", noise(0.1), "output 0")
		}},
		{
			id: "gradient-index", what: "gradients counted from 1, as older versions of msProbe do at the second step", base: llama, steps: first,
			hidden: "the same numbers under other names", make: func(m *making) { shiftGradients(m) },
		},
		{id: "gradient-index-and-scale", what: "gradients counted from 1, and that of layers.2.self_attn.v_proj twice as large", base: llama, steps: first, make: func(m *making) {
			m.gradient(vGradient, 2)
			shiftGradients(m)
			later := strings.Replace(vGradient, "grad.0", "grad.1", 1)
			m.Touched = []Site{{0, 0, later, "parameter_gradient", "weight"}}
			m.Origin.Ops = []string{later}
		}},
	}
}

// gradient scales the gradient of a weight, which the optimizer then uses.
func (m *making) gradient(op string, factor float64) {
	m.change(0, op, by(factor, all()...), "parameter_gradient weight")
}

// shiftGradients gives every gradient the index after its own.
func shiftGradients(m *making) {
	part := m.Problem.Run.Part(0, 0)
	part.rename(func(op string) string { return strings.Replace(op, ".parameters_grad.0", ".parameters_grad.1", 1) })
	const op = "Module.model.layers.1.self_attn.k_proj.Linear.parameters_grad.1"
	m.touch(Site{0, 0, op, "parameter_gradient", "weight"})
}
