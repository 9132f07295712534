package corpus

import "strconv"

func rankFaults() []recipe {
	const firstWeight = "Functional.linear.0.forward"
	return []recipe{
		{id: "tp-weight", what: "tensor parallel: weight of layers.0.up × 1.05 on rank 0", base: shards, make: func(m *making) {
			m.change(0, "Functional.linear.2.forward", by(1.05, all()...), "input 1")
		}},
		{id: "tp-all-reduce-dropped", what: "tensor parallel: the all-reduce behind layers.0.down is left out", base: shards, make: dropAllReduce},
		{id: "tp-all-reduce-wrong", what: "tensor parallel: the second all-reduce gives both ranks the same wrong sum", base: shards, make: func(m *making) {
			m.change(0, "Distributed.all_reduce.1.forward", noise(0.2), "output 0")
			m.Origin.Ranks = []int{0, 1}
		}},
		{id: "tp-shards-exchanged", what: "tensor parallel: each rank has loaded the other's shard", base: shards, make: func(m *making) {
			for _, p := range m.Problem.Run.Parts {
				p.Folder = "rank" + strconv.Itoa(1-p.Rank())
				m.touch(Site{p.Rank(), 0, firstWeight, "input", "1"})
			}
			m.Origin = Origin{Ranks: []int{0, 1}, Ops: []string{firstWeight}}
		}},
		{id: "tp-nan", what: "tensor parallel: NaN in layers.1.up of rank 1", base: shards, make: func(m *making) {
			m.spoil = nan
			m.change(1, "Functional.linear.6.forward", nans, "output 0")
		}},
		{id: "ddp-data", what: "data parallel: rank 1 reads another batch", base: copies, make: func(m *making) {
			m.apply(1, "Functional.embedding.0.forward", []fault{
				{"input 0", func(n *Node) { n.Set("Max", Scalar("981")); n.Set("Min", Scalar("3")) }}, {"output 0", noise(0.1)},
			})
		}},
		{id: "ddp-gradients-not-reduced", what: "data parallel: each rank's optimizer uses its own gradients", base: copies, make: func(m *making) {
			for rank := range 2 {
				ownGradients(m, rank)
			}
			m.Origin = Origin{Ranks: []int{0, 1}, Ops: []string{"Tensor.add_.0.forward"}}
		}},
	}
}

func dropAllReduce(m *making) {
	for _, part := range m.Problem.Run.Parts {
		f := m.flow(part)
		f.wrong(part.At("Distributed.all_reduce.1.forward", "output", "0").Node, part.At("Distributed.all_reduce.1.forward", "input", "0").Node)
		part.removeCall("Distributed.all_reduce", 1)
		f.run(part, "Module.layers.0.down.RowParallelLinear.forward.0")
		m.touch(Site{part.Rank(), 0, "Module.layers.0.down.RowParallelLinear.forward.0", "output", "0"})
		m.touch(Site{part.Rank(), 0, "Tensor.__add__.1.forward", "input", "1"})
	}
	m.Origin = Origin{Ranks: []int{0, 1}, Ops: []string{
		"Distributed.all_reduce.1.forward", "Module.layers.0.down.RowParallelLinear.forward.0", "Tensor.__add__.1.forward",
	}}
}

// ownGradients gives a rank's optimizer gradients that are not the mean of all ranks'.
func ownGradients(m *making, rank int) {
	part := m.Problem.Run.Part(rank, 0)
	for _, op := range part.Ops().Keys {
		if api, _, _, ok := call(op); ok && api == "Tensor.add_" {
			disturb(part.At(op, "input", "1").Node, 0.3, op+strconv.Itoa(rank))
			disturb(part.At(op, "output", "0").Node, 1e-4, op+strconv.Itoa(rank))
			m.touch(Site{rank, 0, op, "input", "1"})
		}
	}
}
