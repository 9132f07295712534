package retention_test

import (
	"strings"
	"testing"
	"time"

	"github.com/tensortap/tensortap/internal/retention"
)

func TestTheFirstRuleThatFitsCounts(t *testing.T) {
	t.Parallel()
	rules, err := retention.ParseRules("r.yaml", []byte(`rules:
  - runs: release-*
  - runs: team/*
    delete_after: 12h
  - runs: "*"
    delete_after: 30d
`))
	must(t, err)
	last := time.Unix(1_000_000, 0)
	for run, want := range map[string]time.Duration{"release-7": 0, "team/a/b": 12 * time.Hour, "x/y": 30 * 24 * time.Hour, "": 30 * 24 * time.Hour} {
		at, goes := rules.Goes(run, last)
		if goes != (want > 0) || goes && !at.Equal(last.Add(want)) {
			t.Errorf("run %q goes at %v, %v; want %v after its last event", run, at, goes, want)
		}
	}
	if _, goes := (retention.Rules{}).Goes("a", last); goes {
		t.Error("without a rule a run goes")
	}
}

func TestWhatIsWrongInAFileOfRulesIsSaid(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                                   "the file is empty",
		"rule: []":                           `rules`,
		"{}":                                 "it has no rules",
		"rules:\n  - delete_after: 3d":       "r.yaml:2:5: the rule names no runs",
		"rules:\n  - runs: '[a'":             `"[a" is no pattern`,
		"rules:\n  - runs: a\n    after: 3d": "delete_after",
		"rules:\n  - {runs: a, delete_after: 0d}":  `"0d" is no age: want days or hours`,
		"rules:\n  - {runs: a, delete_after: 3w}":  `"3w" is no age`,
		"rules:\n  - {runs: a, delete_after: -3d}": `"-3d" is no age`,
	} {
		if _, err := retention.ParseRules("r.yaml", []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}
