package corpus

import (
	"slices"
	"strings"
)

func harmless() []recipe {
	first := []int{0}
	quiet := []recipe{
		{id: "same-again", what: "the same dump under another name", base: llama, steps: first, make: func(*making) {}},
		{id: "md5-again", what: "the same dump with checksums under another name", base: sums, mode: "md5", make: func(*making) {}},
		{id: "xor-again", what: "the same dump with order-blind checksums", base: "A_llama_mix_xor", mode: "xor", make: func(*making) {}},
		{id: "steps-reversed", what: "steps and ranks written in the reverse order", base: shards, make: func(m *making) { slices.Reverse(m.Problem.Run.Parts) }},
		{id: "other-host", what: "other paths and line numbers in the stacks", base: llama, steps: first, make: otherHost},
		{id: "other-folder", what: "another dump folder noted in the file, other spacing, keys of rows in another order", base: llama, steps: first, make: otherSpelling},
		{id: "other-process", what: "folder of a process, with another number", base: "A_llama_mix_xor", mode: "xor", make: func(m *making) { m.Problem.Run.Parts[0].Folder = "proc99" }},
		{id: "request-ids", what: "SGLang, two ranks: other request ids", base: "S_sglang_tp2_bench", make: func(m *making) {
			m.literals(func(text string) string { return requestIDs(text) })
		}},
		{id: "other-device", what: "another name of the device in the arguments", base: llama, steps: first, make: func(m *making) {
			m.literals(func(text string) string { return strings.ReplaceAll(text, `"cpu:None"`, `"cuda:3"`) })
		}},
		{id: "mask", what: "a mask filled with -Inf on both sides", base: llama, steps: first, make: maskOnBothSides},
		{id: "uninitialised", what: "empty() gives other garbage, NaN among it", base: llama, steps: first, make: garbage},
		{id: "rounding", what: "another kernel: every number differs in its last digit", base: llama, steps: first, make: func(m *making) {
			m.error = 5e-8
			m.change(0, "Functional.embedding.0.forward", noise(5e-8), "output 0")
		}},
	}
	for i := range quiet {
		quiet[i].harmless = true
	}
	return quiet
}

func otherHost(m *making) {
	for _, group := range m.Problem.Run.Parts[0].Stacks.Items {
		for _, frame := range group.Items[1].Items {
			renameText(frame, func(text string) string {
				return strings.NewReplacer("/opt/", "/home/elsewhere/", ", line 1", ", line 2").Replace(text)
			})
		}
	}
}

func otherSpelling(m *making) {
	m.Problem.Run.Compact = true
	part := m.Problem.Run.Parts[0]
	part.Dump.Set("dump_data_dir", Quoted("/data/elsewhere"))
	for i, op := range part.Ops().Keys {
		for _, l := range Leaves(op, part.Ops().Items[i]) {
			slices.Reverse(l.Node.Keys)
			slices.Reverse(l.Node.Items)
		}
	}
}

// literals rewrites the values of all arguments that are no tensors.
func (m *making) literals(to func(string) string) {
	for _, p := range m.Problem.Run.Parts {
		for i, op := range p.Ops().Keys {
			for _, l := range Leaves(op, p.Ops().Items[i]) {
				if v := l.Node.Get("value"); v != nil && v.Open == 0 {
					v.Text = to(v.Text)
				}
			}
		}
	}
}

// requestIDs replaces texts of 32 hex digits.
func requestIDs(text string) string {
	id := strings.Trim(text, `"`)
	if len(id) == 32 && strings.Trim(id, "0123456789abcdef") == "" {
		return `"` + id[16:] + id[:16] + `"`
	}
	return text
}

// both puts one more op into both sides.
func (m *making) both(op, at string, problem, bench *Node) {
	m.Bench = Side{Name: m.Problem.Name + " bench", Run: m.Bench.Run.Clone()}
	m.Problem.Run.Parts[0].insert(op, problem, at)
	m.Bench.Run.Parts[0].insert(op, bench, at)
}

const rotary = "Module.model.rotary_emb.LlamaRotaryEmbedding.forward.0"

func maskOnBothSides(m *making) {
	mask := m.Bench.Run.Parts[0].At(rotary, "output", "0").Node.Clone()
	masked := mask.Clone()
	infinite(-1)(masked)
	entry := forward([]*Node{mask, literal("float", "-Infinity")}, masked)
	m.both("Tensor.masked_fill.0.forward", rotary, entry, entry.Clone())
}

func garbage(m *making) {
	row := m.Bench.Run.Parts[0].At(rotary, "output", "0").Node.Clone()
	other := row.Clone()
	nans(other)
	entry := func(n *Node) *Node { return forward([]*Node{literal("int", "128")}, n) }
	m.both("Torch.empty.0.forward", rotary, entry(other), entry(row))
}
