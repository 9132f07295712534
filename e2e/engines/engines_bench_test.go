package engines

import (
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/tensortap/tensortap/e2e/internal/program"
	"github.com/tensortap/tensortap/internal/dev/marked"
	"github.com/tensortap/tensortap/internal/dev/testbed"
)

const (
	overheadRounds    = 9 // of which the median counts
	overheadTokens    = 100
	overheadTogether  = 4         // requests at once
	beyondTheLastStep = "999999-" // steps that never come: the collector is there, and records nothing
)

// overheadLayers and overheadHidden make a model whose step takes some milliseconds on one thread.
const (
	overheadLayers = 8
	overheadHidden = 512
)

// overheadWays are the servers of each engine, and their flags of tensortap run; the first runs without it.
func overheadWays() (names []string, flags [][]string) {
	return []string{"by itself", "armed, nothing selected", "L0, every step", "L0, budget 2%"},
		[][]string{nil, {"--steps", beyondTheLastStep}, {}, {"--budget", "2%"}}
}

// TestEngineOverhead has four servers of each engine answer the same in turns: by itself, with a collector that records
// nothing, with one that records every module of every step, and with a budget. One server is at work at a time, on one
// thread: what is left of two cores is for HTTP, the agent and the system.
func TestEngineOverhead(t *testing.T) { //nolint:paralleltest // it measures
	folder := engineFolder(t)
	model := checkpoints(t, folder, overheadLayers, overheadHidden).good
	var rows strings.Builder
	for _, e := range engines() {
		e.environment = onOneThread(e.environment)
		up := program.StartUp(t, t.TempDir())
		trial := engineTrial{TB: t, engine: e, tp: 1, folder: folder, up: up, results: &outcomes{}}
		names, flags := overheadWays()
		servers := []*modelServer{trial.startAlone(model)}
		for i := range names[1:] {
			servers = append(servers, trial.start(fmt.Sprintf("way%d", i+1), model, flags[i+1]...))
		}
		for _, s := range servers {
			s.signal(t, syscall.SIGSTOP)
		}
		rates := tokenRates(t, servers)
		for i, how := range names {
			fmt.Fprintf(&rows, "| %s | %s | %.0f | %.3f |\n", e.name, how, median(rates[i]), median(ratios(rates[0], rates[i])))
		}
		for _, s := range servers {
			s.kill()
		}
	}
	table := "| engine | collector | tokens a second | time, relative to the engine alone |\n|---|---|---|---|\n" + rows.String()
	t.Log("\n" + table)
	if path := newOutcomes(t, "overhead").path; path != "" {
		if err := marked.Write(path, "overhead", table); err != nil {
			t.Error(err)
		}
	}
}

// onOneThread gives an engine's computing one thread, of the first CPU.
func onOneThread(environment func(folder string, tp int) []string) func(folder string, tp int) []string {
	return func(folder string, tp int) []string {
		return append(environment(folder, tp), "OMP_NUM_THREADS=1", "SGLANG_CPU_OMP_THREADS_BIND=0", "VLLM_CPU_OMP_THREADS_BIND=0")
	}
}

// startAlone starts the engine without tensortap.
func (e engineTrial) startAlone(model string) *modelServer {
	e.Helper()
	port := testbed.FreePorts(e, 1)
	words := e.engine.words(e.folder, model, e.tp, port)
	cmd := exec.CommandContext(e.Context(), words[0], words[1:]...) //nolint:gosec // the engine that was installed
	cmd.Env = append(program.Setting{}.Environment(e), append(e.engine.environment(e.folder, e.tp), e.quiet()...)...)
	return e.engine.serve(e, port, cmd)
}

// tokenRates is the tokens a second of each server in each round. A first round is not counted.
func tokenRates(tb testing.TB, servers []*modelServer) [][]float64 {
	tb.Helper()
	rates := make([][]float64, len(servers))
	for round := range overheadRounds + 1 {
		for at := range servers {
			i := (round + at) % len(servers) // who comes first in a round has no advantage
			took := timeTogether(tb, servers[i], round)
			if round > 0 {
				rates[i] = append(rates[i], overheadTogether*overheadTokens/took.Seconds())
			}
		}
	}
	return rates
}

// timeTogether lets a server work that is stopped otherwise: SGLang's scheduler looks for requests without a pause.
func timeTogether(tb testing.TB, s *modelServer, round int) time.Duration {
	tb.Helper()
	s.signal(tb, syscall.SIGCONT)
	defer s.signal(tb, syscall.SIGSTOP)
	generateTogether(tb, s, -1-round) // what was waiting for it is done
	began := time.Now()
	generateTogether(tb, s, round)
	return time.Since(began)
}

func generateTogether(tb testing.TB, s *modelServer, round int) {
	tb.Helper()
	var group sync.WaitGroup
	for i := range overheadTogether {
		group.Go(func() {
			r := inference{name: fmt.Sprintf("round%d-%d", round, i), prompt: tokensFrom(20+50*i+round, 16), tokens: overheadTokens}
			if err := s.generate(tb.Context(), r); err != nil {
				tb.Error(err)
			}
		})
	}
	group.Wait()
}

// ratios is how many times the time of the base each round took.
func ratios(base, rates []float64) []float64 {
	times := make([]float64, len(rates))
	for i := range rates {
		times[i] = base[i] / rates[i]
	}
	return times
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}
