package engines

import (
	"encoding/csv"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/tensortap/tensortap/e2e/internal/program"
)

// tokenPrompts are read by Transformers one after the other, and asked of engines at the same time.
func tokenPrompts() []inference {
	return []inference{
		{name: "first", prompt: tokensFrom(10, 32), tokens: 4},
		{name: "second", prompt: tokensFrom(100, 12), tokens: 4},
		{name: "third", prompt: tokensFrom(200, 21), tokens: 4},
	}
}

// tokenFault is a fault of testdata/generate.py, and where tokens begin to differ: layer and site.
type tokenFault struct{ name, begins string }

func tokenFaults() []tokenFault {
	return []tokenFault{{"swapped", "2 attention"}, {"scaled_rows", "2 residual stream"}}
}

// tokenModel is a model, and what it computes in. In bfloat16 a router gives a few tokens to another expert in the one implementation than in the other.
type tokenModel struct{ name, dtype string }

func tokenModels() []tokenModel { return []tokenModel{{"llama", "bfloat16"}, {"qwen3_moe", "float32"}} }

// TestEngineTokens holds each token in an engine against the same in Transformers: with the same weights, and with a fault in the second layer.
func TestEngineTokens(t *testing.T) { //nolint:paralleltest // each engine needs the machine for itself
	folder := engineFolder(t)
	trial := engineTrial{TB: t, folder: folder, up: program.StartUp(t, t.TempDir()), results: newOutcomes(t, "tokens"), tp: 1}
	for _, m := range tokenModels() { //nolint:paralleltest // likewise
		t.Run(m.name, func(t *testing.T) {
			trial := trial
			trial.TB = t
			path := checkpoints(t, folder, 2, 128).good
			if m.name != "llama" {
				path = trial.writeFamily(m.name)
			}
			trial.generateTokens(m, path)
			for _, engine := range engines() {
				trial.engine = engine
				trial.engine.flags[slices.Index(engine.flags, "bfloat16")] = m.dtype
				trial.tokensWith(m, path)
			}
		})
	}
}

// tokensOf are flags of a run that records tokens.
func tokensOf() []string { return []string{"--level", "tokens"} }

// generateTokens has Transformers generate, right and with each fault.
func (e engineTrial) generateTokens(m tokenModel, path string) {
	e.Helper()
	words := []string{path}
	if m.dtype == "float32" {
		words = append(words, m.dtype)
	}
	for _, r := range tokenPrompts() {
		words = append(words, fmt.Sprintf("%d:%d", r.prompt[0], r.prompt[0]+len(r.prompt)))
	}
	e.generateWith(m.name+"-hf", tokensOf(), words...)
	for _, fault := range tokenFaults() {
		e.generateWith(m.name+"-hf-"+fault.name, tokensOf(), append(slices.Clone(words), fault.name)...)
	}
}

// tokensWith serves the prompts, and compares each token.
func (e engineTrial) tokensWith(m tokenModel, path string) {
	e.Helper()
	run := m.name + "-" + e.engine.name
	s := e.start(run, path, tokensOf()...)
	var asking errgroup.Group
	for _, r := range tokenPrompts() {
		asking.Go(func() error { return s.generate(e.Context(), r) })
	}
	if err := asking.Wait(); err != nil {
		e.Fatalf("%v\n%s", err, s.tail())
	}
	s.stop(e)
	e.up.Settle(e)
	e.checkTokens(m, run)
}

// checkTokens wants the tokens of a run to pair with those of Transformers, and the layer of each fault to be named.
func (e engineTrial) checkTokens(m tokenModel, run string) {
	e.Helper()
	first, paired, err := e.firstTokens(run, m.name+"-hf")
	e.check(m.name+", "+m.dtype+": each token pairs, and is the same", paired, errors.Join(err, differs([]string{first}, []string{""})))
	for _, fault := range tokenFaults() {
		first, _, err := e.firstTokens(run, m.name+"-hf-"+fault.name)
		e.check(m.name+", "+m.dtype+": "+fault.name+" is named", "layer "+first, errors.Join(err, differs([]string{first}, []string{fault.begins})))
	}
}

// firstTokens are layer and site at which tokens begin to differ, and how many pair at each place.
func (e engineTrial) firstTokens(problem, bench string) (first, paired string, err error) {
	e.Helper()
	out := program.Run(e, e.up.Setting, "report", "tokens", "--problem", problem, "--bench", bench, "--output", "csv", "--columns", "layer,site,verdict,paired_count,alone_count,mean_error,max_error,tolerance")
	e.Logf("%s beside %s\n%s", problem, bench, out.Stdout)
	rows, err := csv.NewReader(strings.NewReader(out.Stdout)).ReadAll()
	if err != nil || len(rows) < 2 {
		return "", "", fmt.Errorf("%v: %w", out, err)
	}
	var places []string
	for _, row := range rows[1:] {
		places = append(places, row[3]+" "+row[1])
		if row[2] == "begins" {
			first = row[0] + " " + row[1]
		}
		if row[4] != "0" {
			err = errors.Join(err, fmt.Errorf("%s tokens of %s in layer %s are in one run alone", row[4], row[1], row[0]))
		}
	}
	return first, strings.Join(places, ", "), err
}
