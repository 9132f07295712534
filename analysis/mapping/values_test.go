package mapping_test

import (
	"strings"
	"testing"

	"github.com/tensortap/tensortap/analysis/mapping"
)

func TestAMapOfTwoImplementationsIsRead(t *testing.T) {
	t.Parallel()
	m := parse(t, `
name: 'mine: left ↔ right'
implementations: true
flatten: true
values:
  lm_head output.0: logits_processor output.0.next_token_logits
streams:
  layers.<n>.norm input.0: blocks.<n>.norm output.1
apart:
  rotary tables:
    problem: ['layers.<n> kwarg.position_embeddings', rotary_emb]
    bench: ['blocks.<n>.norm as IdentityOp', 'blocks.<n>.linear as Fused input']
casts:
  bench: [logits_processor output.0]
`)
	if m.Name != "mine: left ↔ right" || !m.Implementations || !m.Flatten || len(m.Lines) != 2 {
		t.Errorf("%+v", m)
	}
}

func TestLinesOfValuesThatSayNothingAreRefused(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"values:\n  lm_head: logits_processor output.0":                  `"lm_head" names no value`,
		"values:\n  lm_head result.0: logits_processor output.0":         `"lm_head result.0" names no value`,
		"values:\n  lm_head output.0: logits_processor output":           `"logits_processor output" names no value`,
		"streams:\n  a.<n> input.0: b output.1":                          "captures",
		"streams:\n  '[a, b] input.0': b output.1":                       "names no value",
		"apart:\n  tables:\n    left: [a]":                               "left",
		"apart:\n  tables:\n    problem: [a result.0]":                   "want a module, then",
		"apart:\n  tables:\n    problem: [a as]":                         "want a module, then",
		"apart:\n  tables:\n    problem: ['a.[b, c]']":                   "the list has no end",
		"casts:\n  left: [a]":                                            `"left" is no side`,
		"casts:\n  bench: [a result.0]":                                  "want a module, then",
		"modules:\n  a: b\nimplementations: perhaps":                     "want true or false",
		"modules:\n  a: b\napart:\n  tables:\n    problem: ['']":         "want text, not nothing",
		"modules:\n  a: b\napart:\n  tables:\n    bench: [a output.0 b]": "want a module, then",
	} {
		if _, err := mapping.Parse("map.yaml", []byte(text)); err == nil || !strings.Contains(err.Error(), "map.yaml:") || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", text, err, want)
		}
	}
}
