package engines

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/tensortap/tensortap/e2e/internal/program"
)

// hiddenSize is the width of the small models.
const hiddenSize = 128

// projection is an op whose output on each rank has twice two times hiddenSize elements for each token, by the ranks.
const projection = "Module.model.layers.1.mlp.gate_up_proj.MergedColumnParallelLinear.forward.0"

// TestEngineConditions has each engine serve several requests, of which one is meant from the start: of SGLang by the
// switch of its guides, of vLLM by --when.
func TestEngineConditions(t *testing.T) { //nolint:paralleltest // each engine needs the machine for itself
	folder := engineFolder(t)
	model := checkpoints(t, folder, 2, hiddenSize).good
	results := newOutcomes(t, "conditions")
	for _, e := range engines() { //nolint:paralleltest // likewise
		for _, tp := range []int{1, 2} {
			t.Run(fmt.Sprintf("%s tp=%d", e.name, tp), func(t *testing.T) {
				trial := engineTrial{TB: t, engine: e, tp: tp, folder: folder, up: program.StartUp(t, t.TempDir()), results: results}
				trial.serveOneMeant(model)
			})
		}
	}
}

func (e engineTrial) serveOneMeant(model string) {
	flags, phases, steps := []string{"--when", "request=*spoken*, phase=decode"}, "decode", spoken().tokens-1
	kept := []string{"--task", "tensor", "--budget", "1GB"}
	if e.engine.name == "sglang" {
		others := e.engine.environment
		e.engine.environment = func(folder string, tp int) []string {
			return append(others(folder, tp), "SGLANG_DEBUG_REQUESTS=other,spoken")
		}
		flags, phases, steps = nil, "decode,prefill", spoken().tokens
	}
	s := e.start("meant", model, append(kept, flags...)...)
	e.answer(s, []inference{asked()[0], spoken(), asked()[1]})
	s.stop(e)
	e.up.Settle(e)
	e.checkMeant(steps, phases)
	e.checkMeantSaid(s)
	e.checkKept(steps)
}

// checkKept looks for the raw tensors of those steps, and shows one of each rank.
func (e engineTrial) checkKept(steps int) {
	var want []string
	for rank := range e.tp {
		want = append(want, fmt.Sprintf("%d,%d,0", rank, steps))
	}
	got := e.rows(`SELECT rank, uniqExactIf(step, op = '%s' AND role = 'output'), countIf(step NOT IN (SELECT step FROM tap.requests WHERE run = 'meant'))
		FROM tap.payloads WHERE run = 'meant' GROUP BY rank ORDER BY rank`, projection)
	err := differs(got, want)
	for rank := range e.tp {
		out := program.Run(e, e.up.Setting, "tensor", "show", "--run", "meant", "--op", projection, "--rank", strconv.Itoa(rank))
		if out.Status != 0 || !strings.Contains(out.Stdout, fmt.Sprintf(" %d]  bfloat16", 2*2*hiddenSize/e.tp)) {
			err = errors.Join(err, fmt.Errorf("%v", out))
		}
	}
	e.check("--task tensor from the start: the tensors of that request alone are kept, of every rank", "", err)
}

// checkMeant looks for steps of one request on every rank, and for the count of all others.
func (e engineTrial) checkMeant(steps int, phases string) {
	var want, left []string
	for rank := range e.tp {
		want = append(want, fmt.Sprintf("%d,%d,%s,%s", rank, steps, "spoken", strings.ReplaceAll(phases, ",", " ")))
		left = append(left, fmt.Sprintf("%d,%d", rank, stepsOf(append(asked(), spoken()))-steps))
	}
	got := e.rows(`SELECT rank, uniqExact(step), arrayStringConcat(groupUniqArray(extract(request, '(?:cmpl-)?([a-z]+)')), ' '), arrayStringConcat(arraySort(groupUniqArray(phase)), ' ')
		FROM tap.requests WHERE run = 'meant' GROUP BY rank ORDER BY rank`)
	counted := e.rows(`SELECT rank, sum(unseen_count) FROM tap.unseen_counts
		WHERE run_id = xxh3(concat('meant', char(31))) AND reason = 'step not wanted' AND subject != '' GROUP BY rank ORDER BY rank`)
	e.check("one request is meant from the start: its steps alone are recorded, the others counted", strconv.Itoa(steps)+" steps", errors.Join(differs(got, want), differs(counted, left)))
}

// checkMeantSaid looks for the sentence of each rank as its first such step begins.
func (e engineTrial) checkMeantSaid(s *modelServer) {
	var missing []string
	for rank := range e.tp {
		if want := fmt.Sprintf("tensortap: rank %d: step ", rank); !strings.Contains(s.said.String(), want) || !strings.Contains(s.said.String(), " is the first that fulfils request=") {
			missing = append(missing, want)
		}
	}
	var err error
	if len(missing) > 0 {
		err = fmt.Errorf("not said: %q\n%s", slices.Compact(missing), s.tail())
	}
	e.check("each rank says which step is the first that is meant", "", err)
}
