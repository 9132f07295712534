package corpus

import (
	"fmt"
	"slices"
	"strings"
)

// Ops of layers.1 in the recorded Llama.
const (
	upOne      = "Module.model.layers.1.mlp.up_proj.Linear.forward.0"
	layerOne   = "Module.model.layers.1.LlamaDecoderLayer.forward.0"
	activation = "Module.model.layers.1.mlp.act_fn.SiLUActivation."
)

func programFaults() []recipe {
	first := []int{0}
	return []recipe{
		{id: "extra-op", what: "a multiplication by 1.01 behind layers.1.mlp.up_proj, which shifts the later call indices", base: llama, steps: first, make: extraOp},
		{id: "residual-missing", what: "the addition that ends layers.1 is left out", base: llama, steps: first, make: missingResidual},
		{id: "fused-op", what: "silu and product of layers.1.mlp fused into one kernel that is off by a hundredth", base: llama, steps: first, make: fusedOp},
		{
			id: "recompute", what: "forward of layers.1.mlp run once more before its backward, with the same numbers", base: llama, steps: first,
			hidden: "the same numbers, some of them twice", make: func(m *making) { m.recompute() },
		},
		{id: "recompute-differs", what: "forward of layers.1.mlp run once more before its backward, with another random state", base: llama, steps: first, make: func(m *making) {
			m.recompute()
			m.Touched = nil
			m.change(0, "Functional.silu.4.forward", noise(0.1), "output 0")
			// What the forward ran again has no partner; the gradient of the weight behind it is the first row that has one.
			const first = "Module.model.layers.1.mlp.down_proj.Linear.parameters_grad.0"
			m.touch(Site{0, 0, first, "parameter_gradient", "weight"})
			m.Origin.Ops = []string{"Functional.silu.4.forward", "Tensor.__mul__.40.forward", "Functional.linear.31.forward", first}
		}},
	}
}

func extraOp(m *making) {
	part := m.Problem.Run.Part(0, 0)
	from := part.At(upOne, "output", "0").Node
	to := from.Clone()
	by(1.01, all()...)(to)
	op := part.insertCall("Tensor.__mul__", 19, forward([]*Node{from.Clone(), literal("float", "1.01")}, to), upOne)
	m.touch(Site{0, 0, op, "output", "0"})
	m.change(0, "Tensor.__mul__.20.forward", func(n *Node) { take(n, to) }, "input 1")
	m.Origin.Ops = []string{op, "Tensor.__mul__.20.forward"}
	m.Origin.Kinds = []string{"operation"}
}

func missingResidual(m *making) {
	part := m.Problem.Run.Part(0, 0)
	sum, addend := part.At("Tensor.__add__.11.forward", "output", "0").Node, part.At("Tensor.__add__.11.forward", "input", "1").Node
	f := m.flow(part)
	f.wrong(sum, addend)
	part.removeCall("Tensor.__add__", 11)
	f.run(part, layerOne)
	m.touch(Site{0, 0, "Tensor.to.13.forward", "input", "0"})
	m.touch(Site{0, 0, layerOne, "output", "0"})
	m.began(0, layerOne)
	m.Origin.Ops = []string{"Tensor.__add__.11.forward", layerOne, "Tensor.to.13.forward"}
}

func fusedOp(m *making) {
	const op = "NPU.npu_swiglu.0."
	part := m.Problem.Run.Part(0, 0)
	gate, up := part.At(silu, "input", "0").Node, part.At(upOne, "output", "0").Node
	out, grad := part.At("Tensor.__mul__.19.forward", "output", "0").Node, part.At("Tensor.__mul__.19.backward", "input", "0").Node
	gateGrad := part.At("Functional.silu.1.backward", "output", "0").Node
	part.insert(op+"forward", forward([]*Node{gate.Clone(), up.Clone()}, out.Clone()), upOne)
	part.insert(op+"backward", object("input", list(grad.Clone()), "output", list(gateGrad.Clone())), "Tensor.__mul__.19.backward")
	part.removeCall("Functional.silu", 1)
	part.remove(activation+"forward.0", activation+"backward.0")
	part.removeCall("Tensor.__mul__", 19)
	m.error = 0.01
	m.change(0, op+"forward", noise(0.01), "output 0")
	m.touch(Site{0, 0, mlp1, "input", "0"})
	m.Origin.Ops = []string{op + "forward", mlp1}
}

// recompute repeats the forward ops of layers.1.mlp before their backward, which then bears the numbers of the
// repetition, as msProbe records it.
func (m *making) recompute() {
	part := m.Problem.Run.Part(0, 0)
	names := map[string]string{}
	for api, calls := range map[string][][2]int{
		"Functional.linear": {{11, 29}, {12, 30}, {13, 31}}, "Functional.silu": {{1, 4}}, "Tensor.__mul__": {{19, 40}},
	} {
		for _, c := range calls {
			for _, phase := range []string{"forward", "backward"} {
				names[fmt.Sprintf("%s.%d.%s", api, c[0], phase)] = fmt.Sprintf("%s.%d.%s", api, c[1], phase)
			}
		}
	}
	again := func(op string) string {
		base, inMLP := strings.CutSuffix(op, ".0")
		if inMLP && strings.HasPrefix(op, "Module.model.layers.1.mlp.") && !strings.Contains(op, ".parameters_grad") {
			return base + ".1"
		}
		if to, ok := names[op]; ok {
			return to
		}
		return op
	}
	part.repeat(slices.Index(part.Ops().Keys, "Functional.linear.11.forward"), "Module.model.layers.1.mlp.LlamaMLP.forward.0", "Functional.linear.13.backward", again)
	m.touch(Site{0, 0, "Functional.linear.31.backward", "output", "0"})
}

// repeat copies the forward ops from an index to the last one before another op, under new names, and gives the backward
// ops the new names too.
func (p *Part) repeat(from int, last, before string, again func(string) string) {
	ops := p.Ops()
	to := slices.Index(ops.Keys, last)
	var copies []string
	var entries, parents []*Node
	for i := from; i <= to; i++ {
		parent := p.Program.Get(ops.Keys[i]).Clone()
		renameText(parent, again)
		copies, entries, parents = append(copies, again(ops.Keys[i])), append(entries, ops.Items[i].Clone()), append(parents, parent)
	}
	p.rename(func(op string) string {
		if strings.Contains(op, ".backward") {
			return again(op)
		}
		return op
	})
	at := again(before)
	for i, op := range copies {
		ops.insert(op, entries[i], ops.position(at))
		if p.Program.Get(at) != nil {
			p.Program.insert(op, parents[i], p.Program.position(at))
		}
	}
}
