package engines

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tensortap/tensortap/e2e/internal/program"
)

// again is asked of a faulty server, long enough for the fault to reach a token.
func again() []inference {
	return []inference{{name: "first", prompt: tokensFrom(10, 12), tokens: 32}, {name: "second", prompt: tokensFrom(100, 20), tokens: 32}}
}

// TestEngineReplay records what is asked of a faulty server, sends it to another such and to a fixed one, and follows the
// first token that differs to the step and the module.
func TestEngineReplay(t *testing.T) { //nolint:paralleltest // each engine needs the machine for itself
	folder := engineFolder(t)
	models := checkpoints(t, folder, 2, 128)
	results := newOutcomes(t, "replay")
	for _, e := range engines() { //nolint:paralleltest // likewise
		t.Run(e.name, func(t *testing.T) {
			trial := engineTrial{TB: t, engine: e, tp: 1, folder: folder, up: program.StartUp(t, t.TempDir()), results: results}
			trial.record(models.bad)
			trial.replay(models)
		})
	}
}

func (e engineTrial) record(model string) {
	s := e.start("recorded", model, "--keep-prompts")
	e.answer(s, again())
	s.stop(e)
	e.up.Settle(e)
	var err error
	if want := fmt.Sprintf("run: requests that are recorded: %d; next: ", len(again())); !strings.Contains(s.said.String(), want) {
		err = fmt.Errorf("tensortap run did not print %q\n%s", want, s.tail())
	}
	e.check("run records the requests that the server gets", "", err)
}

func (e engineTrial) replay(model models) {
	faulty := e.start("faulty", model.bad)
	fixed := e.start("fixed", model.good)
	words := []string{"replay-requests", "--from", "recorded", "--to", faulty.address}
	out := program.Run(e, e.up.Setting, words...)
	e.check("a server of the same fault answers as was recorded", "", status(out, program.ExitSame))
	words = append(words, "--also", fixed.address)
	e.Log(program.Run(e, e.up.Setting, words...))
	out = program.Run(e, e.up.Setting, append(words, "--output", "json")...)
	figure, err := firstDifference(out)
	e.check("faulty and fixed: the first token that differs, its step in both runs", figure, errors.Join(err, status(out, program.ExitDiffers)))
	faulty.stop(e)
	fixed.stop(e)
	e.up.Settle(e)
	compared := program.Run(e, e.up.Setting, "compare", "faulty", "fixed")
	err = status(compared, program.ExitDiffers)
	if !strings.Contains(compared.Stdout, "layers.1.mlp") {
		err = errors.Join(err, fmt.Errorf("the module is not named: %v", compared))
	}
	e.check("compare names the module", "", err)
}

func status(out program.Outcome, want int) error {
	if out.Status != want {
		return fmt.Errorf("want status %d: %v", want, out)
	}
	return nil
}

// firstDifference is what replay-requests says of the first answer that differs, in words.
func firstDifference(out program.Outcome) (string, error) {
	type row struct {
		Verdict  string   `json:"verdict"`
		Index    *int     `json:"token_index"`
		Token    string   `json:"token"`
		Other    string   `json:"other_token"`
		Logprob  *float64 `json:"logprob"`
		Step     *int     `json:"step"`
		OtherRun string   `json:"other_run"`
	}
	var answer struct {
		Rows []row `json:"rows"`
	}
	if err := json.Unmarshal([]byte(out.Stdout), &answer); err != nil {
		return "", fmt.Errorf("%w: %v", err, out)
	}
	at := slices.IndexFunc(answer.Rows, func(r row) bool { return r.Verdict == "differs" })
	if at < 0 || len(answer.Rows) != len(again()) {
		return "", fmt.Errorf("no answer differs: %v", out)
	}
	r := answer.Rows[at]
	if r.Index == nil || r.Logprob == nil || r.Step == nil || r.Token == r.Other || r.OtherRun != "fixed" {
		return "", fmt.Errorf("the answer that differs: %+v", r)
	}
	return fmt.Sprintf("token %d, %q and %q, step %d", *r.Index, r.Token, r.Other, *r.Step), nil
}
