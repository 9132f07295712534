package pair_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tensortap/tensortap/analysis/pair"
	"github.com/tensortap/tensortap/analysis/rows"
	"github.com/tensortap/tensortap/schemas"
)

// leftOut adds counts, each written rank.step:count of steps beyond the budget, or rank.step!count of ones that were not
// wanted, rank.step?count of ones that fulfilled no condition, or rank.step of one whose loss alone is recorded.
func leftOut(run *rows.Run, text string) *rows.Run {
	for word := range strings.FieldsSeq(text) {
		u := schemas.UnseenRow{Reason: rows.BeyondTheBudget}
		if n, _ := fmt.Sscanf(word, "%d.%d:%d", &u.Rank, &u.Step, &u.UnseenCount); n < 3 {
			u.Reason = rows.StepNotWanted
			if n, _ = fmt.Sscanf(word, "%d.%d!%d", &u.Rank, &u.Step, &u.UnseenCount); n < 3 {
				u.Subject = "loss>10"
				if n, _ = fmt.Sscanf(word, "%d.%d?%d", &u.Rank, &u.Step, &u.UnseenCount); n < 3 {
					u.Reason, u.Subject, u.UnseenCount = rows.OnlyTheLoss, "", 1
				}
			}
		}
		run.LeftOut = append(run.LeftOut, u)
	}
	return run
}

func TestStepsThatABudgetLeftOutAreThoseOfGapsThatTheCountsFill(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ steps, counts, config, want string }{
		"none":                             {"0.0=1 0.4=1", "", "", ""},
		"between":                          {"0.0=1 0.4=1 0.6=1", "0.4:3 0.6:1", "", "0.1 0.2 0.3 0.5"},
		"before the first, after the last": {"0.2=1", "0.2:5", "", "0.0 0.1 0.3 0.4 0.5"},
		"of another reason":                {"0.0=1 0.4=1 0.6=1", "0.4:2 0.6:1", "", "0.5"},
		"of another reason, at the end":    {"0.0=1 0.4=1", "0.4:2", "", ""},
		"of each rank":                     {"0.0=1 0.2=1 3.0=1", "0.2:1 3.0:2", "", "0.1 3.1 3.2"},
		"that are wanted":                  {"0.0=1 0.4=1", "0.4:1 0.4!2", `{"steps": "0-/2"}`, "0.2"},
		"none, as none was wanted":         {"0.0=1 0.4=1", "0.4!3", `{"steps": "0-/4"}`, ""},
		"by a condition":                   {"0.0=1 0.4=1", "0.4?3", "", "0.1 0.2 0.3"},
		"by a condition and the settings":  {"0.0=1 0.4=1", "0.4?1 0.4!2", `{"steps": "0-/2"}`, "0.2"},
		"recorded in part":                 {"0.0=1 0.2=1 0.4=1", "0.2:2 0.2 0.4:1", "", "0.1 0.2 0.3"},
		"recorded in part, found later":    {"0.0=1 0.2=1 0.5=1", "0.2:3 0.2 0.5:1", "", "0.1 0.2 0.3 0.4"},
		"recorded in part, at the end":     {"0.0=1 0.2=1", "0.2:4 0.2", "", "0.1 0.2 0.3 0.4"},
		"too many in the midst":            {"0.0=1 0.2=1 0.4=1", "0.2:2", "", "0.1"},
		"that have not ended":              {"0.0=1 0.2", "0.2:1", "", "0.1"},
	} {
		run := leftOut(stepped(c.steps), c.counts)
		run.Described.Config = c.config
		l := pair.StepsLeftOut(run)
		var got []string
		for rank := range uint32(4) {
			for step := range int64(8) {
				if l.Has(rank, step) {
					got = append(got, fmt.Sprintf("%d.%d", rank, step))
				}
			}
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: %v, want %s", name, got, c.want)
		}
	}
}
