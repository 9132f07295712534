package main

import (
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

const (
	overheadRounds    = 9 // of which the median counts
	overheadTokens    = 100
	overheadTogether  = 4         // requests at once
	beyondTheLastStep = "999999-" // steps that never come: the collector is there, and records nothing
)

// TestEngineOverhead has three servers of each engine answer the same in turns: by itself, with a collector that
// records nothing, and with one that records every module of every step.
func TestEngineOverhead(t *testing.T) { //nolint:paralleltest // it measures
	folder := engineFolder(t)
	model, _ := checkpoints(t, folder)
	var rows strings.Builder
	for _, e := range engines() {
		up := startUp(t, t.TempDir())
		trial := engineTrial{TB: t, engine: e, tp: 1, folder: folder, up: up, results: &outcomes{}}
		servers := []*modelServer{
			trial.startAlone(model),
			trial.start("armed", model, "--steps", beyondTheLastStep),
			trial.start("recorded", model),
		}
		rates := tokenRates(t, servers)
		for i, how := range []string{"by itself", "armed, nothing selected", "L0, every step"} {
			fmt.Fprintf(&rows, "| %s | %s | %.0f | %.3f |\n", e.name, how, median(rates[i]), median(ratios(rates[0], rates[i])))
		}
		for _, s := range servers {
			s.kill()
		}
	}
	table := "| engine | collector | tokens a second | time, to that by itself |\n|---|---|---|---|\n" + rows.String()
	t.Log("\n" + table)
	if path := newOutcomes(t).path; path != "" {
		if err := replaceBlock(path, "overhead", table); err != nil {
			t.Error(err)
		}
	}
}

// startAlone starts the engine without tensortap.
func (e engineTrial) startAlone(model string) *modelServer {
	e.Helper()
	port := freePort(e)
	words := e.engine.words(e.folder, model, e.tp, port)
	cmd := exec.CommandContext(e.Context(), words[0], words[1:]...) //nolint:gosec // the engine that was installed
	cmd.Env = append(setting{}.environment(e), append(e.engine.environment(e.folder, e.tp), e.quiet()...)...)
	return e.engine.serve(e, port, cmd)
}

// tokenRates is the tokens a second of each server in each round. A first round is not counted.
func tokenRates(tb testing.TB, servers []*modelServer) [][]float64 {
	tb.Helper()
	rates := make([][]float64, len(servers))
	for round := range overheadRounds + 1 {
		for i, s := range servers {
			began := time.Now()
			generateTogether(tb, s, round)
			if round > 0 {
				rates[i] = append(rates[i], overheadTogether*overheadTokens/time.Since(began).Seconds())
			}
		}
	}
	return rates
}

func generateTogether(tb testing.TB, s *modelServer, round int) {
	tb.Helper()
	var group sync.WaitGroup
	for i := range overheadTogether {
		group.Go(func() {
			r := inference{fmt.Sprintf("round%d-%d", round, i), tokensFrom(20+50*i+round, 16), overheadTokens}
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
