package mapping_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/tensortap/tensortap/analysis/mapping"
	"github.com/tensortap/tensortap/analysis/rows"
)

func TestParseTellsTheKindsOfFilesApart(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]mapping.Kind{
		"modules:\n  a: b\n": mapping.Own,
		"flatten: true\n":    mapping.Own,
		"Cell.fc1.Dense.forward.0.input.0: Module.fc1.Linear.forward.0.input.0\n":  mapping.Data,
		"Module.a.B.parameters_grad.weight: Module.a.C.parameters_grad.0.weight\n": mapping.Data,
		"fc1.Dense: fc1.Linear\n":            mapping.Cell,
		"backbone: encoder\nDense: Linear\n": mapping.Cell,
		"- ms_api: Functional.conv2d\n  pt_api: Functional.conv2d\n  ms_args: [0, 1]\n  pt_args: [1, 0]\n": mapping.API,
		"TopLayer:\n  net: model\nAttention:\n  q.proj: wq\n":                                              mapping.Layer,
		"Cell:\n  net: model(2)\n": mapping.Layer,
	} {
		m, err := mapping.Parse("m.yaml", []byte(text))
		if err != nil || m.Kind != want {
			t.Errorf("Parse(%q) = %v, %v, want %s", text, m, err, want)
		}
	}
}

func TestParseSaysWhatIsWrongAndWhere(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                                         "the file is empty",
		"{}":                                       "m.yaml:1:1: the mapping is empty",
		"moduls:\n  a: b\n":                        `m.yaml:1:1: key "moduls" is not known: is "modules" meant?`,
		"modules:\n  a: [b, c]\n":                  "m.yaml:2:6: want text, not a list",
		"modules:\n  a.<n>: b\n":                   `m.yaml:2:3: "a.<n>" captures <n> and "b" captures nothing`,
		"modules:\n  a.<n>.<n>: b.<n>\n":           "capture <n> stands twice",
		"modules:\n  a.<n: b\n":                    "a capture is written <name>",
		"modules:\n  a.[b, c]: d.[e, f]\n":         "a line joins the parts of one side, not of both",
		"modules:\n  a.[b]: d\n":                   "a list holds two names or more",
		"modules:\n  a.[b, c: d\n":                 "the list has no end",
		"modules:\n  a.[b, c] along x: d\n":        "behind the list stands nothing, or along and a dimension",
		"modules:\n  a[b, c]: d\n":                 "a list stands for the last part of a name",
		"modules:\n  a: b\n  a: c\n":               `m.yaml:3:3: key "a" stands in line 2 already`,
		"tensors:\n  a.input: b.output\n":          `m.yaml:2:3: "a.input" names no tensor`,
		"ops:\n  Torch.<x>.a: Torch.<x>.a\n":       "an API is written without captures",
		"flatten: maybe\n":                         "want true or false",
		"- ms_api: a\n":                            `key "pt_api" is missing`,
		"- ms_api: a\n  pt_api: b\n  ms_argz: 1":   `key "ms_argz" is not known: is "ms_args" meant?`,
		"- ms_api: a\n  pt_api: b\n  ms_args: [1]": "1 arguments of one API beside 0 of the other",
		"Dense:\n  a: b\nfc: [c]\n":                "want keys with values, not a list",
	} {
		_, err := mapping.Parse("m.yaml", []byte(text))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Parse(%q) = %v, want an error with %s", text, err, want)
		}
	}
}

func FuzzParseNeverPanics(f *testing.F) {
	f.Add([]byte(fused))
	f.Add([]byte("- ms_api: Functional.conv2d\n  pt_api: Functional.conv2d\n  ms_args: [0, 1]\n  pt_args: [1, 0]\n"))
	f.Add([]byte("TopLayer:\n  net: model\nAttention:\n  q.proj: wq\n"))
	f.Add([]byte("tensors:\n  Torch.a.<k>.forward.input.0: Torch.b.<k>.forward.kwarg.x\n"))
	f.Fuzz(func(_ *testing.T, text []byte) {
		_, _ = mapping.Parse("m.yaml", text)
	})
}

func TestLinesThatMatchNothingAreNamed(t *testing.T) {
	t.Parallel()
	text := fused + "  layers.<n>.cross_attn: blocks.<n>.cross\n  layers.<n>.mlp.[gate, up]: blocks.<n>.feed.gate_up\n" +
		"ops:\n  Torch.nothing: Torch.less\n  Functional.silu.<k>.forward: Functional.silu.<k>.forward\n  Functional.silu.9.forward: Functional.gelu.9.forward\n"
	c := compare(t, twice(t, "separate", "fused"), parse(t, text), "separate", "fused")
	var got []string
	for _, line := range c.unmatched {
		got = append(got, line.Text)
	}
	want := []string{
		"layers.<n>.cross_attn: blocks.<n>.cross", "layers.<n>.mlp.[gate, up]: blocks.<n>.feed.gate_up",
		"Torch.nothing: Torch.less", "Functional.silu.9.forward: Functional.gelu.9.forward",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestEachPairIsKnownByItsLine(t *testing.T) {
	t.Parallel()
	source := mapping.NewSource(twice(t, "separate", "fused"), parse(t, fused), "separate", []string{"fused"})
	problem := run(t, source, "separate")
	found := map[string]string{}
	for _, row := range source.Definitions().Programs[problem.Steps[0].ProgramID] {
		if line, ok := source.Line(row.OpID); ok {
			found[source.Definitions().Ops[row.OpID].Name] = line.Text
		}
	}
	for op, want := range map[string]string{
		"Module.layers.1.self_attn.[q_proj, k_proj, v_proj].Linear.forward.0": "layers.<n>.self_attn.[q_proj, k_proj, v_proj]: blocks.<n>.attention.qkv_proj",
		"Module.layers.2.input_layernorm.LayerNorm.forward.0":                 "layers.<n>.input_layernorm: blocks.<n>.norm_1",
		"Module.layers.0.SeparateLayer.forward.0":                             "layers.<n>: blocks.<n>",
	} {
		if found[op] != want {
			t.Errorf("line of %s = %q, want %q", op, found[op], want)
		}
	}
	for _, use := range source.Uses() {
		if use.Pairs == 0 || use.Bench == 0 || use.Problem < use.Pairs {
			t.Errorf("use of %+v", use)
		}
	}
}

// inCells is the part of the map that msProbe's cell mapping can say, by pieces of names with classes.
const inCells = `
embed_tokens: embed
lm_head: head
layers.: blocks.
SeparateLayer: FusedBlock
input_layernorm: norm_1
post_attention_layernorm: norm_2
self_attn: attention
SeparateAttention: FusedAttention
o_proj: out
mlp: feed
SeparateFeed: FusedFeed
down_proj: down
`

// inLayers is the same as msProbe's layer mapping says it.
const inLayers = `
TopLayer:
  embed_tokens: embed
  lm_head: head
  layers: blocks
SeparateLayer:
  input_layernorm: norm_1
  post_attention_layernorm: norm_2
  self_attn: attention(comment)
  mlp: feed
SeparateAttention:
  o_proj: out
SeparateFeed:
  down_proj: down
`

func TestModulesPairByMsprobesMappingFiles(t *testing.T) {
	t.Parallel()
	source := twice(t, "separate", "fused")
	for _, text := range []string{inCells, inLayers} {
		c := compare(t, source, parse(t, text), "separate", "fused")
		for problem, bench := range map[string]string{
			"Module.layers.2.self_attn.o_proj.Linear.forward.0":                    "Module.blocks.2.attention.out.Linear.forward.0",
			"Module.layers.0.post_attention_layernorm.LayerNorm.parameters_grad.0": "Module.blocks.0.norm_2.LayerNorm.parameters_grad.0",
			"Module.lm_head.Linear.backward.0":                                     "Module.head.Linear.backward.0",
		} {
			if c.pairs[problem] != bench {
				t.Errorf("with %.20q: %s pairs with %q, want %s", text, problem, c.pairs[problem], bench)
			}
		}
		if len(c.unmatched) > 0 {
			t.Errorf("with %.20q: unmatched %v", text, c.unmatched)
		}
	}
}

func TestTensorsPairAsTheMapNamesThem(t *testing.T) {
	t.Parallel()
	source := twice(t, "separate", "fused")
	text := "Functional.silu.0.forward.output.0: Functional.silu.2.forward.output.0\nModule.lm_head.Linear.forward.0.input.0: Module.head.Linear.forward.0.input.0\n"
	mapped := mapping.NewSource(source, parse(t, text), "separate", []string{"fused"})
	problem, bench := run(t, mapped, "separate"), run(t, mapped, "fused")
	at := rows.Place{}
	left, right := tensors(t, mapped, problem, []rows.Place{at})[at], tensors(t, mapped, bench, []rows.Place{at})[at]
	moved := mapped.Moved(right, nil)
	definitions := mapped.Definitions()
	names := map[string]string{}
	for _, id := range right.SiteID {
		if to, ok := moved[id]; ok {
			names[siteName(definitions, id)] = siteName(definitions, to)
		}
	}
	if names["Functional.silu.2.forward output 0"] != "Functional.silu.0.forward output 0" || names["Module.head.Linear.forward.0 input 0"] != "Module.lm_head.Linear.forward.0 input 0" {
		t.Errorf("moved %v", names)
	}
	if to, ok := names["Functional.silu.0.forward output 0"]; !ok || to != "" {
		t.Errorf("what stood beside a tensor that the map names stands beside %q, want nothing", to)
	}
	if left.Len() == 0 || len(names) != 3 {
		t.Errorf("%d moved, want 3: %v", len(names), names)
	}
}

func TestArgumentsPairAsMsprobesMappingOfAPIsSays(t *testing.T) {
	t.Parallel()
	text := "- ms_api: Functional.silu\n  pt_api: Functional.silu\n  ms_output: [0]\n  pt_output: [0]\n"
	mapped := mapping.NewSource(twice(t, "separate", "fused"), parse(t, text), "separate", []string{"fused"})
	_, bench := run(t, mapped, "separate"), run(t, mapped, "fused")
	at := rows.Place{}
	moved := mapped.Moved(tensors(t, mapped, bench, []rows.Place{at})[at], nil)
	for id, to := range moved {
		if name := siteName(mapped.Definitions(), id); !strings.HasPrefix(name, "Functional.silu.") || !strings.Contains(name, " input ") || to != 0 {
			t.Errorf("%s stands beside %s", name, siteName(mapped.Definitions(), to))
		}
	}
	if len(moved) == 0 {
		t.Error("arguments that are not listed have partners")
	}
}

func siteName(d *rows.Definitions, id uint64) string {
	site, ok := d.Sites[id]
	if !ok {
		return ""
	}
	return d.Ops[site.OpID].Name + " " + site.Role + " " + site.Path
}
