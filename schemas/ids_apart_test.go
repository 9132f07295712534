package schemas

import (
	"slices"
	"strings"
	"testing"
)

// Each pair is two facts that are the same text where their fields are only joined.
func TestDifferentFactsHaveDifferentIDs(t *testing.T) {
	t.Parallel()
	layout := func(alter func(*LayoutRow)) uint64 {
		row := LayoutRow{Kind: "tensor", Dtype: "a", Shape: []int64{1}}
		alter(&row)
		return LayoutID(&row)
	}
	signature := func(op string, inputs, outputs []string) uint64 {
		return SignatureID(&SignatureRow{OpName: op, Inputs: inputs, Outputs: outputs})
	}
	declared := func(problem string, benches, tolerances []string) uint64 {
		return DeclaredComparisonID(&DeclaredComparisonRow{Problem: problem, Benches: benches, Tolerances: tolerances})
	}
	list := func(words ...string) []string { return words }
	for name, pair := range map[string][2]uint64{
		"a run, its name with a separator":     {RunID("a"), RunID("a\x1f")},
		"a run, its name with an escape":       {RunID("a\x1f"), RunID("a\x1b1")},
		"an op, its name with a separator":     {OpID("a"), OpID("a\x1f")},
		"a site, role and path":                {SiteID(1, "input\x1f0", "1"), SiteID(1, "input", "0\x1f1")},
		"a site, a path with an escape":        {SiteID(1, "input", "\x1f"), SiteID(1, "input", "\x1b1")},
		"a layout, kind and dtype":             {layout(func(l *LayoutRow) { l.Kind, l.Dtype = "a\x1fb", "" }), layout(func(l *LayoutRow) { l.Kind, l.Dtype = "a", "b\x1f" })},
		"a layout, dtype and shape":            {layout(func(l *LayoutRow) { l.Dtype = "a\x1f[1]"; l.Shape = nil }), layout(func(l *LayoutRow) { l.StrideClass = "[]" })},
		"a layout, placement and literal":      {layout(func(l *LayoutRow) { l.Placement = "p\x1fl" }), layout(func(l *LayoutRow) { l.Placement, l.Literal = "p", "l\x1f" })},
		"a stack, one frame and two":           {StackID(list("a\x1fb")), StackID(list("a", "b"))},
		"a stack, none and an empty one":       {StackID(nil), StackID(list(""))},
		"a stack, frames with escapes":         {StackID(list("a\x1b", "1b")), StackID(list("a\x1b1", "b"))},
		"a tally, path and count":              {TallyID([]TallyRow{{ModulePath: "a\x1f1", CallCount: 1}}), TallyID([]TallyRow{{ModulePath: "a", CallCount: 1}, {}})},
		"a tally, a path that holds a row":     {TallyID([]TallyRow{{ModulePath: "a\x1f1\x1f0000000000000000\x1fb", CallCount: 2}}), TallyID([]TallyRow{{ModulePath: "a", CallCount: 1}, {ModulePath: "b", CallCount: 2}})},
		"a signature, one input and two":       {signature("o", list("a\nb"), nil), signature("o", list("a", "b"), nil)},
		"a signature, no input and an empty":   {signature("o", nil, nil), signature("o", list(""), nil)},
		"a signature, empty inputs":            {signature("o", list("\n"), nil), signature("o", list("", ""), nil)},
		"a signature, an input with an escape": {signature("o", list("a\nb"), nil), signature("o", list("a\x1b2b"), nil)},
		"a signature, an escape of nothing":    {signature("o", list(""), nil), signature("o", list("\x1b3"), nil)},
		"a signature, inputs and outputs":      {signature("o", list("a\x1fb"), nil), signature("o", list("a"), list("b\x1f"))},
		"a signature, op and input":            {signature("o\x1fa", nil, nil), signature("o", list("a\x1f"), nil)},
		"a comparison, one bench and two":      {declared("p", list("a\x1eb"), nil), declared("p", list("a", "b"), nil)},
		"a comparison, no rule and an empty":   {declared("p", list("a"), nil), declared("p", list("a"), list(""))},
		"a comparison, problem and bench":      {declared("p\x1fa", list("b"), nil), declared("p", list("a\x1fb"), nil)},
	} {
		if pair[0] == pair[1] {
			t.Errorf("%s: both are %s", name, FormatID(pair[0]))
		}
	}
}

// Ids of names without control characters are what they were: stored runs join with new ones.
func TestIDsOfOrdinaryNamesArePlain(t *testing.T) {
	t.Parallel()
	words := []string{"Module.a.B.forward.0", "", "ünï/ランク", "1b\\x1f\t\r", strings.Repeat("long", 200)}
	plain := RunID(strings.Join(words, "\x1f"))
	if got := StackID(words); got != plain {
		t.Errorf("StackID(%q) = %s, want %s", words, FormatID(got), FormatID(plain))
	}
	row := SignatureRow{OpName: "op", Inputs: words, Outputs: words[:2]}
	plain = RunID("op\x1f" + strings.Join(words, "\n") + "\x1f" + strings.Join(words[:2], "\n"))
	if got := SignatureID(&row); got != plain {
		t.Errorf("SignatureID(%q) = %s, want %s", words, FormatID(got), FormatID(plain))
	}
}

func TestWordsAreTakenApartAsTheyWereJoined(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, words := range [][]string{nil, {""}, {"", ""}, {"a"}, {"a\tb"}, {"a", "b"}, {"\x1b"}, {"\x1b2", "\t"}, {"\x1b3"}, {"\x1b0\x1b"}, {"ü", "\n", ""}} {
		text := JoinWords(words, '\t')
		if got := SplitWords(text, '\t'); !slices.Equal(got, words) || seen[text] {
			t.Errorf("%q became %q and then %q", words, text, got)
		}
		seen[text] = true
	}
}
