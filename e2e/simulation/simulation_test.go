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
	seeds   = flag.Int("seeds", 10_000, "how many seeds to run, from 1 on")
)

//nolint:paralleltest // only one world may be at work at a time, see simulated.Forget
func TestEverythingIsStoredOnceInEverySimulatedWorld(t *testing.T) {
	if *oneSeed > 0 {
		try(t, *oneSeed)
		return
	}
	for seed := uint64(1); seed <= uint64(*seeds) && !t.Failed(); seed++ {
		try(t, seed)
	}
}

// try runs the world of a seed.
func try(t *testing.T, seed uint64) {
	t.Helper()
	simulated.Forget()
	synctest.Test(t, func(t *testing.T) {
		if failures := see(t, seed); len(failures) > 0 {
			t.Errorf("go test ./e2e/simulation -seed %d:\n%s", seed, strings.Join(failures, "\n"))
		}
	})
}

// Each of these seeds found a fault, which is mended. What the scheduler does is not in a seed, so each runs a few times.
//
//nolint:paralleltest // likewise
func TestSeedsThatFoundFaults(t *testing.T) {
	for fault, seed := range map[string]uint64{
		"an insert that waited for long began after the writer had ended all inserts, and its connection broke: it was stored after the look": 2390,
	} {
		t.Log(fault)
		for range 20 {
			try(t, seed)
		}
	}
}
