package report

import (
	"strconv"
	"strings"
	"testing"
)

// placesOf are places at which tokens pair. A row has the tolerance of a token, the tolerance of their mean, and the number of calibrating tokens.
func placesOf(rows ...[3]string) Table {
	t := Table{Columns: []string{"layer", "site", "verdict", "paired_count", "alone_count", "tolerance", "mean_tolerance", "calibrated_count"}}
	t.numeric = make([]bool, len(t.Columns))
	for _, row := range rows {
		cells := []Value{textValue("1"), textValue("logits"), textValue("same"), numberValue("42"), numberValue("0")}
		for _, cell := range row {
			cells = append(cells, numberValue(cell))
		}
		t.Rows = append(t.Rows, cells)
	}
	return t
}

func TestAComparisonByTokenSaysWhatItTolerated(t *testing.T) {
	t.Parallel()
	usual, narrow, wide := [3]string{"0.05", "", "0"}, [3]string{"0.01", "0.002", "42"}, [3]string{"0.2", "0.004", "40"}
	for want, tokens := range map[string]Tokens{
		"tolerance    0.05, by dtype\n": {Places: placesOf(usual, usual)},
		"tolerance    0.3, as asked\n":  {Places: placesOf(wide), Asked: "0.3", Calibrate: "again"},
		"by run again, which measures 42 tokens at 2 places: a token may differ by 0.01 to 0.2, their mean by 0.002 to 0.004\n":                         {Places: placesOf(narrow, wide), Calibrate: "again"},
		"by run again, which measures 42 tokens at 1 place: a token may differ by 0.01, their mean by 0.002; at the other 2 places by 0.05, by dtype\n": {Places: placesOf(narrow, usual, usual), Calibrate: "again"},
	} {
		var text strings.Builder
		if err := tokens.Write(&text, Style{}); err != nil || !strings.Contains(text.String(), want) {
			t.Errorf("%v, want %q in\n%s", err, want, text.String())
		}
		if said := tokens.Object().Tolerance; !strings.Contains(want, said) || said == "" {
			t.Errorf("as JSON: got %q, want what text says: %q", said, want)
		}
	}
	if said := (&Tokens{Asked: "0.3"}).Object().Tolerance; said != "" {
		t.Errorf("where nothing pairs: got %q, want nothing", said)
	}
}

// numberValue is a number as it is written; null where it is empty.
func numberValue(text string) Value {
	number, err := strconv.ParseFloat(text, 64)
	return Value{Exact: text, Number: number, Null: err != nil}
}
