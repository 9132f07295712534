package model

import (
	"strings"
	"testing"
)

func TestArchiveKeepsItsRulesInEveryOrderOfSteps(t *testing.T) {
	t.Parallel()
	found := Archive{Faults: 3}.Search().Run()
	t.Logf("%d states", found.States)
	if found.Broken != "" {
		t.Errorf("%q is broken:\n%s", found.Broken, strings.Join(found.Steps, "\n"))
	}
}

func TestEachGuardOfTheArchiveIsNeeded(t *testing.T) {
	t.Parallel()
	for _, guard := range ArchiveGuards() {
		t.Run(string(guard), func(t *testing.T) {
			t.Parallel()
			found := Archive{Faults: 3, Without: guard}.Search().Run()
			if found.Broken == "" {
				t.Fatal("without it no rule is broken")
			}
			t.Logf("%q is broken after %d steps, %d states", found.Broken, len(found.Steps), found.States)
		})
	}
}
