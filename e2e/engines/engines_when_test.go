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

// TestEngineConditions has each engine serve several requests, of which one is meant from the start: of SGLang by the
// switch of its guides, of vLLM by --when.
func TestEngineConditions(t *testing.T) { //nolint:paralleltest // each engine needs the machine for itself
	folder := engineFolder(t)
	model := checkpoints(t, folder, 2, 128).good
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
	if e.engine.name == "sglang" {
		others := e.engine.environment
		e.engine.environment = func(folder string, tp int) []string {
			return append(others(folder, tp), "SGLANG_DEBUG_REQUESTS=other,spoken")
		}
		flags, phases, steps = nil, "decode,prefill", spoken().tokens
	}
	s := e.start("meant", model, flags...)
	e.answer(s, []inference{asked()[0], spoken(), asked()[1]})
	s.stop(e)
	e.up.Settle(e)
	e.checkMeant(steps, phases)
	e.checkMeantSaid(s)
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
