package retention_test

import (
	"maps"
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
		at, goes := rules.Going(run, last)[retention.Whole]
		if goes != (want > 0) || goes && !at.Equal(last.Add(want)) {
			t.Errorf("run %q goes at %v, %v; want %v after its last event", run, at, goes, want)
		}
	}
	if goes := (retention.Rules{}).Going("a", last); len(goes) > 0 {
		t.Error("without a rule a run goes")
	}
}

func TestPartsOfARunGoBeforeIt(t *testing.T) {
	t.Parallel()
	rules, err := retention.ParseRules("r.yaml", []byte("rules:\n  - {runs: a, delete_payloads_after: 12h, delete_logs_after: 3h, keep_only_verdicts_after: 2d}\n"))
	must(t, err)
	last := time.Unix(1_000_000, 0)
	want := map[string]time.Time{
		retention.Payloads: last.Add(12 * time.Hour), retention.Logs: last.Add(3 * time.Hour), retention.Details: last.Add(48 * time.Hour),
	}
	if goes := rules.Going("a", last); !maps.Equal(goes, want) {
		t.Errorf("parts of run a go at %v, want %v", goes, want)
	}
}

func TestSpoolsGoByTheRuleOfTheirRun(t *testing.T) {
	t.Parallel()
	rules, err := retention.ParseRules("r.yaml", []byte("rules:\n  - {runs: a, delete_after: 1d}\n  - {runs: '*', delete_spools_after: 100m}\n"))
	must(t, err)
	touched := time.Unix(1_000_000, 0)
	if at, goes := rules.SpoolGoes("a", touched); goes {
		t.Errorf("a spool goes at %v by a rule that is about its run alone", at)
	}
	for _, run := range []string{"b", ""} {
		if at, goes := rules.SpoolGoes(run, touched); !goes || !at.Equal(touched.Add(100*time.Minute)) {
			t.Errorf("a spool of run %q goes %v, at %v", run, goes, at)
		}
	}
	if goes := rules.Going("b", touched); len(goes) > 0 || !rules.Spools() || rules[:1].Spools() {
		t.Errorf("with its spools a run goes: %v", goes)
	}
	if every := rules.LookEvery(); every != 10*time.Minute {
		t.Errorf("looked each %v", every)
	}
	if _, err := retention.ParseRules("r.yaml", []byte("rules:\n  - {runs: a, delete_spools_after: 3w}\n")); err == nil || !strings.Contains(err.Error(), `"3w" is no age`) {
		t.Errorf("an age that is none: %v", err)
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
		"rules:\n  - {runs: a, delete_after: 0d}":                                             `"0d" is no age: want days, hours or minutes`,
		"rules:\n  - {runs: a, delete_after: 3w}":                                             `"3w" is no age`,
		"rules:\n  - {runs: a, delete_after: 3d, keep_only_verdicts_after: 4d}":               "delete_after is sooner than a part of what goes then",
		"rules:\n  - {runs: a, delete_logs_after: 3d, keep_only_verdicts_after: 2d}":          "keep_only_verdicts_after is sooner",
		"rules:\n  - {runs: a, delete_payloads_after: 1d, keep_only_verdicts_after: forever}": `"forever" is no age`,
		"rules:\n  - {runs: a, delete_after: -3d}":                                            `"-3d" is no age`,
	} {
		if _, err := retention.ParseRules("r.yaml", []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}
