package corpus

import (
	"slices"
	"strings"
)

func renamingFaults() []recipe {
	first := []int{0}
	return []recipe{
		{id: "class-renamed", what: "class LlamaRMSNorm is called FusedRMSNorm", base: llama, steps: first, hidden: "the same numbers under other names", make: func(m *making) {
			renameClass(m.Problem.Run, "LlamaRMSNorm", "FusedRMSNorm")
			m.touch(Site{0, 0, "Module.model.layers.1.input_layernorm.FusedRMSNorm.forward.0", "output", "0"})
		}},
		{id: "class-renamed-and-weight", what: "class LlamaRMSNorm is called FusedRMSNorm, and the weight of that in layers.2 is wrong", base: llamaM, make: func(m *making) {
			const op = "Module.model.layers.2.input_layernorm.FusedRMSNorm.forward.0"
			renameClass(m.Problem.Run, "LlamaRMSNorm", "FusedRMSNorm")
			m.change(0, op, by(1.1, all()...), "parameter weight")
		}},
		{id: "hostile-names", what: "a module's name is SQL, quotes, tabs and no Latin; its weight is wrong", base: llamaM, make: func(m *making) {
			hostile := strings.NewReplacer("layers.1.mlp.down_proj", "layers.1.mlp.'); DROP TABLE \"x\"; --\t层\u202e{{`\\")
			m.Bench = Side{Name: m.Problem.Name + " bench", Run: m.Bench.Run.Clone()}
			m.Bench.Run.Part(0, 0).rename(hostile.Replace)
			m.Problem.Run.Part(0, 0).rename(hostile.Replace)
			m.change(0, hostile.Replace("Module.model.layers.1.mlp.down_proj.Linear.forward.0"), by(1.1, all()...), "parameter weight")
		}},
		{
			id: "order-permuted", what: "v_proj of layers.1 computed before k_proj: their call indices are exchanged", base: llama, steps: first,
			hidden: "the same numbers in another order", make: permuteOrder,
		},
	}
}

// renameClass gives a class of modules another name.
func renameClass(run *Run, from, to string) {
	for _, p := range run.Parts {
		p.rename(func(op string) string { return strings.Replace(op, "."+from+".", "."+to+".", 1) })
	}
}

// permuteOrder puts the three ops of one projection before those of another.
func permuteOrder(m *making) {
	part := m.Problem.Run.Part(0, 0)
	other := map[string]string{}
	for _, phase := range []string{"forward", "backward"} {
		for _, pair := range [][2]string{{"Functional.linear.8.", "Functional.linear.9."}, {"Tensor.transpose.6.", "Tensor.transpose.7."}} {
			other[pair[0]+phase], other[pair[1]+phase] = pair[1]+phase, pair[0]+phase
		}
	}
	part.rename(func(op string) string {
		if to, ok := other[op]; ok {
			return to
		}
		return op
	})
	for _, to := range []*Node{part.Ops(), part.Program} {
		moveBefore(to, []string{"Functional.linear.8.forward", "Module.model.layers.1.self_attn.v_proj.Linear.forward.0", "Tensor.transpose.6.forward"}, "Functional.linear.9.forward")
	}
	m.touch(Site{0, 0, "Functional.linear.8.forward", "input", "1"})
}

// moveBefore moves members of an object before another.
func moveBefore(n *Node, keys []string, before string) {
	for _, key := range keys {
		from := slices.Index(n.Keys, key)
		item := n.Items[from]
		n.Keys, n.Items = slices.Delete(n.Keys, from, from+1), slices.Delete(n.Items, from, from+1)
		to := slices.Index(n.Keys, before)
		n.Keys, n.Items = slices.Insert(n.Keys, to, key), slices.Insert(n.Items, to, item)
	}
}
