package report

import (
	"encoding/json"
	"strings"
	"testing"
)

const (
	seenAtL0  = "level L0 sees modules and the loss; functional ops between them are not observed"
	seenAtMix = "level mix sees modules, the APIs that msProbe lists and the loss; other functions and kernels are not observed"
)

func TestAnOverflowSaysWhatIsNotObserved(t *testing.T) {
	t.Parallel()
	for by, want := range map[[2]string]string{
		{"collector", "L0"}:   seenAtL0,
		{"collector", "mix"}:  seenAtMix,
		{"msprobe", "L0"}:     "level L0 sees modules; functional ops between them and the loss are not observed",
		{"msprobe", ""}:       "",
		{"sglang-dumper", ""}: "",
	} {
		recorded := Recorded{Source: by[0], Level: by[1]}
		o := Overflow{Recorded: recorded}
		var text strings.Builder
		if err := o.WriteNote(&text, Style{}); err != nil || strings.Contains(text.String(), "observed     "+want+"\n") != (want != "") {
			t.Errorf("%+v: %v, want %q in\n%s", recorded, err, want, text.String())
		}
		if said, err := json.Marshal(o.Object()); err != nil || !strings.Contains(string(said), `"observed":"`+want+`"`) {
			t.Errorf("%+v: %v, want %q in %s", recorded, err, want, said)
		}
	}
}

func TestAComparisonSaysWhatIsNotObservedOfEither(t *testing.T) {
	t.Parallel()
	l0, mix, unknown := Recorded{Source: "collector", Level: "L0"}, Recorded{Source: "collector", Level: "mix"}, Recorded{}
	for want, recorded := range map[string][2]Recorded{
		seenAtL0:  {l0, l0},
		seenAtMix: {unknown, mix},
		"problem: " + seenAtL0 + "; bench: " + seenAtMix: {l0, mix},
	} {
		c := Comparison{Benches: []string{"bench"}, Recorded: recorded}
		var text strings.Builder
		if err := c.WriteNote(&text, Style{}); err != nil || !strings.Contains(text.String(), "observed     "+want+"\n") {
			t.Errorf("%v, want %q in\n%s", err, want, text.String())
		}
		if got := c.Object(Style{}).Observed; got != want {
			t.Errorf("as JSON %q, want %q", got, want)
		}
	}
}
