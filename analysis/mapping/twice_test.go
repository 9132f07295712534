package mapping_test

import (
	"strings"
	"testing"

	"github.com/tensortap/tensortap/analysis/judge"
)

// fused says how the two ways to write the model of testdata/twice.py correspond.
const fused = `
modules:
  embed_tokens: embed
  lm_head: head
  layers.<n>: blocks.<n>
  layers.<n>.input_layernorm: blocks.<n>.norm_1
  layers.<n>.post_attention_layernorm: blocks.<n>.norm_2
  layers.<n>.self_attn: blocks.<n>.attention
  layers.<n>.self_attn.o_proj: blocks.<n>.attention.out
  layers.<n>.self_attn.[q_proj, k_proj, v_proj]: blocks.<n>.attention.qkv_proj
  layers.<n>.mlp: blocks.<n>.feed
  layers.<n>.mlp.down_proj: blocks.<n>.feed.down
  layers.<n>.mlp.[gate_proj, up_proj]: blocks.<n>.feed.gate_up_proj
`

// inverted is the same where the fused model is the problem.
func inverted() string {
	lines := strings.Split(strings.TrimSpace(fused), "\n")
	for i, line := range lines[1:] {
		key, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		lines[1+i] = "  " + value + ": " + key
	}
	return strings.Join(lines, "\n")
}

func TestAModelWrittenTwiceDiffersNowhereWithAMap(t *testing.T) {
	t.Parallel()
	source := twice(t, "separate", "fused")
	for name, c := range map[string]comparison{
		"separate beside fused": compare(t, source, parse(t, fused), "separate", "fused"),
		"fused beside separate": compare(t, source, parse(t, inverted()), "fused", "separate"),
	} {
		if c.first != "" || c.counts[judge.Agrees] < 500 || len(c.unmatched) > 0 {
			t.Errorf("%s: first %q, counts %v, unmatched %v", name, c.first, c.counts, c.unmatched)
		}
		t.Log(name, c.counts, len(c.onlyProblem), len(c.onlyBench))
	}
}

func TestSwappedPartsAreFoundInTheirLayer(t *testing.T) {
	t.Parallel()
	source := twice(t, "separate", "swapped")
	for want, c := range map[string]comparison{
		"layers.1.self_attn": compare(t, source, parse(t, fused), "separate", "swapped"),
		"blocks.1.attention": compare(t, source, parse(t, inverted()), "swapped", "separate"),
	} {
		if !strings.HasPrefix(c.first, "step 0 ") || !strings.Contains(c.first, "in Module."+want+".") {
			t.Errorf("first %q, want it in %s; %v", c.first, want, c.counts)
		}
	}
}

func TestWithoutAMapTheTwoModelsHaveHardlyAnythingInCommon(t *testing.T) {
	t.Parallel()
	c := compare(t, twice(t, "separate", "fused"), nil, "separate", "fused")
	if c.first == "" {
		t.Errorf("nothing differs: %v", c.counts)
	}
}
