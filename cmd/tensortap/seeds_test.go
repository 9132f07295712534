package main

import (
	"slices"
	"testing"
)

func TestARepeatableProgramIsGivenItsSeedUnlessTheUserHasSetIt(t *testing.T) {
	t.Parallel()
	asked := repeatable{seed: "7", deterministic: true}
	want := []string{"TENSORTAP_SEED=7", "PYTHONHASHSEED=7", "TENSORTAP_DETERMINISTIC=1", "CUBLAS_WORKSPACE_CONFIG=:4096:8"}
	if got := asked.variables([]string{"HOME=/"}); !slices.Equal(got, want) {
		t.Errorf("variables() = %q, want %q", got, want)
	}
	if got := asked.variables([]string{"PYTHONHASHSEED=0", "CUBLAS_WORKSPACE_CONFIG=:16:8"}); len(got) != 2 {
		t.Errorf("variables() = %q beside the user's", got)
	}
	if got := (&repeatable{}).variables(nil); len(got) != 0 {
		t.Errorf("variables() = %q where nothing is asked for", got)
	}
	for seed, fits := range map[string]bool{"": true, "0": true, "4294967295": true, "4294967296": false, "-1": false, "x": false} {
		if err := (&repeatable{seed: seed}).check(); (err == nil) != fits {
			t.Errorf("check() of seed %q = %v", seed, err)
		}
	}
}
