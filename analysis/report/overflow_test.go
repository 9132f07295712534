package report

import (
	"math"
	"strings"
	"testing"
)

func TestAnOriginSaysHowManyElementsAreNotFinite(t *testing.T) {
	t.Parallel()
	o := Overflow{Origins: Table{
		Columns: []string{"dtype", "shape", "nan_count", "positive_infinity_count", "negative_infinity_count"},
		Rows:    [][]Value{{{Exact: "torch.float32", Number: math.NaN()}, {Exact: "[2,15]", Number: math.NaN()}, {Number: 12}, {Number: 0}, {Number: 1920}}},
	}}
	var text strings.Builder
	const want = "torch.float32 [2,15]  12 NaN, 1,920 -Inf  min -"
	if err := o.WriteNote(&text, Style{}); err != nil || !strings.Contains(text.String(), want) {
		t.Errorf("%v, want %q in\n%s", err, want, text.String())
	}
}

func TestATableSaysThatThereIsMore(t *testing.T) {
	t.Parallel()
	row := []Value{{Exact: "a"}}
	for rows, want := range map[int]string{2: "op\na\na\n", 3: "op\na\na\nand more; --limit 0 for all\n"} {
		table := Table{Columns: []string{"op"}, numeric: []bool{false}}
		for range rows {
			table.Rows = append(table.Rows, row)
		}
		var text strings.Builder
		if err := table.WriteText(&text, Style{Format: Text, Limit: 2}); err != nil || text.String() != want {
			t.Errorf("%d rows: %q, %v, want %q", rows, text.String(), err, want)
		}
	}
}
