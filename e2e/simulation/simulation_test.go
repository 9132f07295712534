package simulation

import (
	"flag"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/tensortap/tensortap/e2e/internal/simulated"
)

//nolint:gochecknoglobals // flags are
var (
	oneSeed = flag.Uint64("seed", 0, "the only seed to run")
	seeds   = flag.Int("seeds", 3000, "how many seeds to run, from 1 on")
)

func TestEverythingIsStoredOnceInEverySimulatedWorld(t *testing.T) {
	t.Parallel()
	if *oneSeed > 0 {
		try(t, *oneSeed)
		return
	}
	for seed := uint64(1); seed <= uint64(*seeds) && !t.Failed(); seed++ {
		try(t, seed)
	}
}

func try(t *testing.T, seed uint64) {
	t.Helper()
	simulated.Forget()
	synctest.Test(t, func(t *testing.T) {
		if failures := see(t, seed); len(failures) > 0 {
			t.Errorf("go test ./e2e/simulation -seed %d:\n%s", seed, strings.Join(failures, "\n"))
		}
	})
}
