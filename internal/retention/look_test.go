package retention_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/tensortap/tensortap/internal/retention"
)

func TestTheShorterATimeIsTheMoreOftenItIsLookedFor(t *testing.T) {
	t.Parallel()
	for age, want := range map[string]time.Duration{"20d": 10 * time.Minute, "1h": 6 * time.Minute, "6m": 36 * time.Second} {
		rules, err := retention.ParseRules("r.yaml", fmt.Appendf(nil, "rules:\n  - runs: kept\n  - {runs: old, delete_after: 24h}\n  - {runs: '*', delete_after: %s}\n", age))
		must(t, err)
		if got := rules.LookEvery(); got != want {
			t.Errorf("with an age of %s it is looked every %v, want %v", age, got, want)
		}
	}
	if got := (retention.Rules{}).LookEvery(); got != 10*time.Minute {
		t.Errorf("without rules it is looked every %v", got)
	}
}
