package report

import (
	"math"
	"strings"
	"testing"
)

func TestALayerOfNotFiniteValuesStandsOut(t *testing.T) {
	t.Parallel()
	c := Comparison{Problem: "bad", Benches: []string{"good"}, Verdict: Differs, Summary: counted("differing_count", "paired_count")}
	four := Value{Exact: "4", Number: 4}
	c.Layers = Table{Columns: []string{"step", "direction", "layer", "greatest_error", "differing_count", "not_finite_count"}}
	c.Layers.Rows = [][]Value{{{Exact: "1"}, textValue("forward"), textValue("layers.2"), {Null: true, Number: math.NaN()}, four, four}}
	var text strings.Builder
	if err := c.WriteNote(&text, Style{}); err != nil {
		t.Fatal(err)
	}
	if want := "layers.2                 █████████  not finite, 4 differ, 4 not finite\n"; !strings.Contains(text.String(), want) {
		t.Errorf("%s\nwant %q", text.String(), want)
	}
}
