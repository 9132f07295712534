package mapping_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/tensortap/tensortap/analysis/judge"
	"github.com/tensortap/tensortap/analysis/mapping"
	"github.com/tensortap/tensortap/analysis/rows"
)

const suggested = `modules:
  embed_tokens: embed
  layers: blocks
  lm_head: head
  layers.<n>.input_layernorm: blocks.<n>.norm_1
  layers.<n>.mlp: blocks.<n>.feed
  layers.<n>.post_attention_layernorm: blocks.<n>.norm_2
  layers.<n>.self_attn: blocks.<n>.attention
  layers.<n>.mlp.[gate_proj, up_proj]: blocks.<n>.feed.gate_up_proj
  layers.<n>.mlp.down_proj: blocks.<n>.feed.down
  layers.<n>.self_attn.[q_proj, k_proj, v_proj]: blocks.<n>.attention.qkv_proj
  layers.<n>.self_attn.o_proj: blocks.<n>.attention.out
`

func suggest(tb testing.TB, source rows.Source, problem, bench string) string {
	tb.Helper()
	at := rows.Place{}
	left := tensors(tb, source, run(tb, source, problem), []rows.Place{at})[at]
	right := tensors(tb, source, run(tb, source, bench), []rows.Place{at})[at]
	return mapping.Suggest(left, right, source.Definitions())
}

func TestAMapIsSuggestedFromWeights(t *testing.T) {
	t.Parallel()
	source := twice(t, "separate", "fused", "swapped")
	for _, bench := range []string{"fused", "swapped"} {
		if got := withoutEvidence(suggest(t, source, "separate", bench)); got != suggested {
			t.Errorf("beside %s got\n%s\nwant\n%s", bench, got, suggested)
		}
	}
	if got := suggest(t, source, "fused", "fused"); got != "" {
		t.Errorf("of one program with itself: %s", got)
	}
}

func TestEachSuggestedLineSaysItsEvidence(t *testing.T) {
	t.Parallel()
	text := suggest(t, twice(t, "separate", "fused"), "separate", "fused")
	for _, want := range []string{"lm_head: head # weights, 100 % sure, 1 place\n", "feed.gate_up_proj # weights, 100 % sure, 3 places\n", "layers: blocks # what they hold\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("want %q in\n%s", want, text)
		}
	}
}

// withoutEvidence is a suggestion without its comments.
func withoutEvidence(text string) string {
	return regexp.MustCompile(`(?m) *#.*$\n?`).ReplaceAllStringFunc(text, keepEnd)
}

func keepEnd(comment string) string {
	if strings.HasPrefix(comment, "#") {
		return ""
	}
	return "\n"
}

func TestNothingDiffersWithTheSuggestedMap(t *testing.T) {
	t.Parallel()
	source := twice(t, "separate", "fused")
	for _, runs := range [][2]string{{"separate", "fused"}, {"fused", "separate"}} {
		c := compare(t, source, parse(t, suggest(t, source, runs[0], runs[1])), runs[0], runs[1])
		if c.first != "" || c.counts[judge.Agrees] < 500 || len(c.unmatched) > 0 {
			t.Errorf("%v: first %q, counts %v, unmatched %v", runs, c.first, c.counts, c.unmatched)
		}
	}
}
