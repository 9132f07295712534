package engines

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/tensortap/tensortap/e2e/internal/program"
)

// TestEngineReplicas serves a model by two replicas that know nothing of each other, is asked of before any request, and serves twelve.
func TestEngineReplicas(t *testing.T) { //nolint:paralleltest // each engine needs the machine for itself
	folder := engineFolder(t)
	model := checkpoints(t, folder, 2, hiddenSize).good
	results := newOutcomes(t, "launches")
	for _, e := range engines() { //nolint:paralleltest // likewise
		t.Run(e.name, func(t *testing.T) {
			e.split = e.replicas
			trial := engineTrial{TB: t, engine: e, tp: 2, folder: folder, up: program.StartUp(t, t.TempDir()), results: results}
			trial.serveReplicas(model)
		})
	}
}

// TestEngineRestart serves, ends, and serves again under the same name.
func TestEngineRestart(t *testing.T) { //nolint:paralleltest // each engine needs the machine for itself
	folder := engineFolder(t)
	model := checkpoints(t, folder, 2, hiddenSize).good
	results := newOutcomes(t, "restarts")
	for _, e := range engines() { //nolint:paralleltest // likewise
		t.Run(e.name, func(t *testing.T) {
			trial := engineTrial{TB: t, engine: e, tp: 1, folder: folder, up: program.StartUp(t, t.TempDir()), results: results}
			trial.serveAgain(model)
		})
	}
}

// TestEngineException has vLLM end of an exception of its own, which it raises where it is told to at logits that are NaN.
func TestEngineException(t *testing.T) { //nolint:paralleltest // it needs the machine for itself
	folder := engineFolder(t)
	model := checkpoints(t, folder, 2, hiddenSize).nan
	trial := engineTrial{TB: t, engine: vllm(), tp: 1, folder: folder, up: program.StartUp(t, t.TempDir()), results: newOutcomes(t, "exceptions")}
	trial.env = []string{"VLLM_COMPUTE_NANS_IN_LOGITS=1", "VLLM_RAISE_ON_LOGIT_NANS=1"}
	trial.serveRaising(model)
}

func (e engineTrial) serveReplicas(model string) {
	s := e.start("replicas", model)
	e.checkArmed()
	wanted := replicated()
	e.answer(s, wanted)
	s.stop(e)
	e.up.Settle(e)
	e.checkReplicas(wanted)
	e.checkDetail()
	e.checkClientsName(wanted[0])
}

// replicated is what is asked of replicas, which take turns.
func replicated() (all []inference) {
	for i := range 12 {
		all = append(all, inference{name: fmt.Sprintf("turn%d", i), prompt: tokensFrom(10+20*i, 6), tokens: 3})
	}
	return all
}

// checkArmed asks both replicas before their first request: where they are, and for one step in detail.
func (e engineTrial) checkArmed() {
	var err error
	for _, words := range [][]string{{"poke"}, {"capture", "--level", "mix", "--steps", "1"}} {
		out := program.Run(e, e.up.Setting, append(words, "--run", "replicas")...)
		if out.Status != program.ExitSame {
			err = errors.Join(err, fmt.Errorf("%v", out))
		}
	}
	e.check("poke and capture before the first request", "", err)
}

// checkReplicas looks for both ranks, and for each request in one of them.
func (e engineTrial) checkReplicas(requests []inference) {
	ranks := e.rows(`SELECT rank, dp, dp_size FROM tap.ranks WHERE run_id = xxh3(concat('replicas', char(31))) ORDER BY rank`)
	err := differs(ranks, []string{"0,0,2", "1,1,2"})
	served := e.rows(`SELECT uniqExact(request), uniqExact(rank), count() FROM tap.requests WHERE run_id = xxh3(concat('replicas', char(31)))`)
	err = errors.Join(err, differs(served, []string{fmt.Sprintf("%d,2,%d", len(requests), stepsOf(requests))}))
	complete := e.rows(`SELECT rank, complete, explanation FROM tap.completeness WHERE run_id = xxh3(concat('replicas', char(31))) ORDER BY rank`)
	err = errors.Join(err, differs(complete, []string{"0,1,", "1,1,"}))
	world := e.rows(`SELECT world_size FROM tap.runs WHERE run_id = xxh3(concat('replicas', char(31)))`)
	e.check("data parallel of two: two ranks, each request in one of them", strings.Join(served, "; "), errors.Join(err, differs(world, []string{"2"})))
}

// checkDetail looks whether the first step of each rank, and no other, is the one that was asked for.
func (e engineTrial) checkDetail() {
	got := e.rows(`SELECT rank, groupUniqArrayIf(step, op LIKE 'Functional.%%') FROM tap.tensors WHERE run = 'replicas' GROUP BY rank ORDER BY rank`)
	e.check("what was asked before the first request is done with it", "", differs(got, []string{"0,[0]", "1,[0]"}))
}

// checkClientsName asks for a request by the name that its client got.
func (e engineTrial) checkClientsName(r inference) {
	name := r.name
	if e.engine.name == "vllm" {
		name = "cmpl-" + name
	}
	type row struct {
		Request string `json:"request"`
		Moment  string `json:"moment"`
	}
	rows := report[row](e, "request", "--run", "replicas", "--id", name)
	var err error
	served := 0
	for _, found := range rows {
		if !strings.Contains(found.Request, name) {
			err = fmt.Errorf("a row of %q", found.Request)
		}
		if found.Moment == "prefill" || found.Moment == "decode" {
			served++
		}
	}
	if served != r.tokens {
		err = errors.Join(err, fmt.Errorf("%d steps of request %s, want %d", served, name, r.tokens))
	}
	e.check("report request --id: the name that the client got", "", err)
}

func (e engineTrial) serveAgain(model string) {
	wanted := asked()
	s := e.start("again", model)
	e.answer(s, wanted)
	s.stop(e)
	s = e.start("again", model, "--resume")
	e.answer(s, wanted)
	s.stop(e)
	e.up.Settle(e)
	steps := stepsOf(wanted)
	got := e.rows(`SELECT generation, count(), min(step), max(step), sum(complete) FROM tap.steps WHERE run_id = xxh3(concat('again', char(31))) GROUP BY generation ORDER BY generation`)
	want := []string{fmt.Sprintf("0,%d,0,%d,%d", steps, steps-1, steps), fmt.Sprintf("1,%d,%d,%d,%d", steps, steps, 2*steps-1, steps)}
	err := differs(got, want)
	complete := e.rows(`SELECT complete, step_count FROM tap.completeness WHERE run_id = xxh3(concat('again', char(31)))`)
	e.check("a restart under the same name goes on behind the steps", "", errors.Join(err, differs(complete, []string{fmt.Sprintf("1,%d", 2*steps)})))
}

// serveRaising is answered once, and then asks for what the engine raises at. The server's own exit status is 0 all the same.
func (e engineTrial) serveRaising(model string) {
	s := e.start("raised", model)
	e.answer(s, asked()[:1])
	raising := culprit()
	raising.chat = false
	_ = s.generate(e.Context(), raising)
	s.wait(e)
	e.up.Settle(e)
	got := e.rows(`SELECT extract(request, '(?:cmpl-)?([a-z]+)') AS name FROM tap.requests WHERE run_id = xxh3(concat('raised', char(31))) GROUP BY name ORDER BY min(step)`)
	err := differs(got, []string{"short", "culprit"})
	type row struct {
		Request string `json:"request"`
	}
	if rows := report[row](e, "poisoned-requests", "--run", "raised"); len(rows) != 1 || !strings.Contains(rows[0].Request, "culprit") {
		err = errors.Join(err, fmt.Errorf("poisoned are %v", rows))
	}
	e.check("an exception of the engine's own: what it served until then is there", "", err)
}
