package corpus

// set gives a literal argument another value.
func set(text string) func(*Node) {
	return func(n *Node) { n.Set("value", Scalar(text)) }
}

// instead puts another value in a row's place.
func instead(of *Node) func(*Node) {
	return func(n *Node) { *n = *of.Clone() }
}

func literalFaults() []recipe {
	first := []int{0}
	return []recipe{
		{id: "eps-L1", what: "epsilon of a norm in layers.2 1e-6 → 1e-3", base: llamaA, make: func(m *making) {
			m.change(0, "Tensor.__add__.12.forward", set("0.001"), "input 1")
		}},
		{id: "dropout", what: "dropout of the attention in layers.1 on", base: llama, steps: first, make: func(m *making) {
			m.error = 0.2
			m.change(0, sdpa, set("0.1"), "kwarg dropout_p")
		}},
		{id: "attention-scale", what: "scale of the attention in layers.1 0.125 → 0.1", base: llamaA, make: func(m *making) {
			m.change(0, sdpa, set("0.1"), "kwarg scale")
		}},
		{id: "scale-none", what: "scale of the attention in layers.1 None for a number", base: llamaA, make: func(m *making) {
			m.change(0, sdpa, instead(Scalar("null")), "kwarg scale")
		}},
		{id: "bias-for-none", what: "a number where layers.1.mlp.down_proj had no bias", base: llamaA, make: func(m *making) {
			m.change(0, mlp1, instead(literal("float", "0.5")), "input 2")
		}},
		{id: "not-causal", what: "attention in layers.1 causal in the problem only", base: llama, steps: first, make: func(m *making) {
			m.change(0, sdpa, set("true"), "kwarg is_causal")
		}},
		{id: "reduction", what: "loss summed, not averaged", base: llamaA, make: func(m *making) {
			m.apply(0, "Functional.cross_entropy.0.forward", []fault{
				{"kwarg reduction", set(`"sum"`)}, {"output 0", by(256, all()...)},
			})
		}},
		{id: "learning-rate", what: "the optimizer's step twice as long", base: llamaA, make: func(m *making) { optimizer(m, "-0.02", 1.0001) }},
		{
			id: "optimizer-skips", what: "the optimizer leaves one weight as it is", base: llamaA, small: true,
			hidden: "one step moves the weight by less than kernels of float32 differ", make: func(m *making) {
				given := m.Problem.Run.Part(0, 0).At("Tensor.add_.5.forward", "input", "0").Node.Clone()
				m.alter("Tensor.add_.5.forward", func(n *Node) { take(n, given) }, "output 0")
			},
		},
	}
}

// optimizer gives every update another factor.
func optimizer(m *making, alpha string, factor float64) {
	part := m.Problem.Run.Part(0, 0)
	for _, op := range part.Ops().Keys {
		if api, _, _, ok := call(op); ok && api == "Tensor.add_" {
			set(alpha)(part.At(op, "kwarg", "alpha").Node)
			by(factor, "Max", "Min", "Norm")(part.At(op, "output", "0").Node)
			m.touch(Site{0, 0, op, "kwarg", "alpha"})
		}
	}
	m.began(0, "Tensor.add_.0.forward")
}
