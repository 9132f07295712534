package engines

import (
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tensortap/tensortap/e2e/internal/program"
	"github.com/tensortap/tensortap/internal/dev/testbed"
)

// What is asked of every server. The prompts share no beginning, so that nothing of one is cached for another.
func asked() []inference {
	return []inference{{name: "short", prompt: tokensFrom(10, 12), tokens: 6}, {name: "long", prompt: tokensFrom(100, 40), tokens: 4}}
}

// lasting outlasts what is done to a server meanwhile.
func lasting() inference { return inference{name: "lasting", prompt: tokensFrom(200, 8), tokens: 200} }

// spoken is asked for by what its prompt says: the words of the models are the numbers of their tokens.
func spoken() inference { return inference{name: "spoken", prompt: tokensFrom(300, 6), tokens: 4} }

func tokensFrom(first, count int) []int {
	tokens := make([]int, count)
	for i := range tokens {
		tokens[i] = first + i
	}
	return tokens
}

// TestEngines serves a tiny Llama by the engines themselves, on one rank and on two, once as it should be and once with
// a weight scaled that only the last rank holds.
func TestEngines(t *testing.T) { //nolint:paralleltest // each engine needs the machine for itself
	folder := engineFolder(t)
	models := checkpoints(t, folder, 2, 128)
	results := newOutcomes(t, "outcome")
	for _, e := range engines() { //nolint:paralleltest // likewise
		for _, tp := range []int{1, 2} {
			t.Run(fmt.Sprintf("%s tp=%d", e.name, tp), func(t *testing.T) {
				trial := engineTrial{TB: t, engine: e, tp: tp, folder: folder, up: program.StartUp(t, t.TempDir()), results: results}
				trial.serveWell(models.good)
				trial.serveBadly(models.bad)
				if e.name == "sglang" && tp == 1 {
					trial.serveAsMsprobe(models.good)
				}
			})
		}
	}
}

// engineTrial is one engine on so many ranks, and a system that takes what its collectors see.
type engineTrial struct {
	testing.TB

	engine  engine
	tp      int
	folder  string
	up      *program.Up
	results *outcomes
	env     []string // besides, of all that is recorded
}

// serveWell serves the bench run: all that is asked is answered, and the server ends in order.
func (e engineTrial) serveWell(model string) {
	s := e.start("good", model)
	e.answer(s, asked())
	e.checkCapture(s)
	e.checkCaptureOfPrompt(s)
	if e.engine.name == "sglang" { // whose health check computes a token
		e.check("health check answered", "", s.http(e.Context(), http.MethodGet, "/health_generate", nil))
	}
	s.stop(e)
	e.up.Settle(e)
	e.checkSteps("good", asked())
	e.checkRequests("good", asked())
	e.checkKvCache("good")
	e.checkStates("good", "ended")
	if e.engine.name == "sglang" {
		e.checkUncounted("good", "health check")
	}
}

// serveBadly serves the problem run, in another order where there is one rank, and kills a worker in the middle of a step.
func (e engineTrial) serveBadly(model string) {
	s := e.start("bad", model)
	wanted := asked()
	if e.tp == 1 {
		slices.Reverse(wanted)
	}
	e.answer(s, wanted)
	e.awaitSteps("bad", stepsOf(wanted))
	e.checkCompare()
	e.killLastRank(s)
}

// start launches the engine as its users do, below `tensortap run`.
func (e engineTrial) start(run, model string, flags ...string) *modelServer {
	e.Helper()
	port := testbed.FreePorts(e, 1)
	at := program.Setting{Data: e.up.Data, Env: append(e.engine.environment(e.folder, e.tp), e.quiet()...)}
	args := append([]string{"run", "--run", run}, flags...)
	args = append(append(args, "--"), e.engine.words(e.folder, model, e.tp, port)...)
	return e.engine.serve(e, port, program.Command(e, at, args...))
}

// quiet keeps engines from asking the network, and from writing into the user's folders; and the collector from more
// detail than is asked for, which memory that nobody wrote yet can bring about.
func (e engineTrial) quiet() []string {
	home := e.TempDir()
	return append([]string{"OMP_NUM_THREADS=1", "TENSORTAP_DETAIL_STEPS=0", "HF_HUB_OFFLINE=1", "TRANSFORMERS_OFFLINE=1", "HOME=" + home, "XDG_CACHE_HOME=" + filepath.Join(home, "cache")}, e.env...)
}

func (e engineTrial) answer(s *modelServer, requests []inference) {
	e.Helper()
	for _, r := range requests {
		if err := s.generate(e.Context(), r); err != nil {
			e.Fatalf("%s: %v\n%s", r.name, err, s.tail())
		}
	}
}

// stepsOf is how many steps the requests take one after the other.
func stepsOf(requests []inference) int {
	steps := 0
	for _, r := range requests {
		steps += r.tokens
	}
	return steps
}

// awaitSteps returns when that many steps of each rank are stored of a server that goes on.
func (e engineTrial) awaitSteps(run string, steps int) {
	e.Helper()
	stored := func() bool {
		return e.rows(`SELECT count() FROM tap.steps WHERE run_id = xxh3(concat('%s', char(31)))`, run)[0] == strconv.Itoa(steps*e.tp)
	}
	if err := program.Await(time.Minute, "the steps of run "+run, stored); err != nil {
		e.Error(err)
	}
	e.up.Settle(e)
}

// checkCapture asks for more detail of a server that is serving: every rank records what its modules call for two steps.
func (e engineTrial) checkCapture(s *modelServer) {
	e.awaitSteps("good", stepsOf(asked())) // by then it is known where the run lives
	answered := make(chan error, 1)
	go func() { answered <- s.generate(e.Context(), lasting()) }()
	out := program.Run(e, e.up.Setting, "capture", "--run", "good", "--level", "mix", "--steps", "2")
	err := errors.Join(<-answered, e.Context().Err())
	if out.Status != 0 {
		err = errors.Join(err, fmt.Errorf("%v", out))
	}
	e.awaitSteps("good", stepsOf(append(asked(), lasting())))
	got := e.rows(`SELECT rank, uniqExactIf(step, op LIKE 'Functional.%%') AS detailed, maxIf(step, op LIKE 'Functional.%%') - minIf(step, op LIKE 'Functional.%%'), max(step) > maxIf(step, op LIKE 'Functional.%%')
		FROM tap.tensors WHERE run = 'good' GROUP BY rank ORDER BY rank`)
	var want []string
	for rank := range e.tp {
		want = append(want, fmt.Sprintf("%d,2,1,1", rank))
	}
	e.check("capture on a live server: two steps in detail, then as before", "", errors.Join(err, differs(got, want)))
}

// checkCaptureOfPrompt asks, while another request is served, for steps of one that is yet to come.
func (e engineTrial) checkCaptureOfPrompt(s *modelServer) {
	before := e.lastStep("good")
	answered := make(chan error, 1)
	go func() { answered <- s.generate(e.Context(), lasting()) }()
	out := program.Run(e, e.up.Setting, "capture", "--run", "good", "--level", "mix", "--steps", "2", "--prompt", "302 303")
	err := errors.Join(<-answered, s.generate(e.Context(), spoken()))
	if out.Status != 0 || !strings.Contains(out.Stdout, "will record steps that have such a request") {
		err = errors.Join(err, fmt.Errorf("%v", out))
	}
	e.awaitSteps("good", stepsOf(append(asked(), lasting(), lasting(), spoken())))
	got := e.rows(`SELECT t.rank, extract(r.request, '(?:cmpl-)?([a-z]+)') AS name, r.first_position FROM
		(SELECT DISTINCT rank, step FROM tap.tensors WHERE run = 'good' AND step > %d AND op LIKE 'Functional.%%') AS t
		JOIN tap.requests AS r ON r.rank = t.rank AND r.step = t.step WHERE r.run_id = xxh3(concat('good', char(31))) ORDER BY t.rank, r.first_position`, before)
	var want []string
	for rank := range e.tp {
		want = append(want, fmt.Sprintf("%d,spoken,0", rank), fmt.Sprintf("%d,spoken,%d", rank, len(spoken().prompt)))
	}
	e.check("capture by the text of a prompt: two steps of that request", "", errors.Join(err, differs(got, want)))
}

// checkSteps holds what the engine said of each step against what was asked: a prompt in one step, then a token in each.
func (e engineTrial) checkSteps(run string, requests []inference) {
	var want []string
	for rank := range e.tp {
		step := 0
		for _, r := range requests {
			for token := range r.tokens {
				phase, tokens := "decode", 1
				if token == 0 {
					phase, tokens = "prefill", len(r.prompt)
				}
				want = append(want, fmt.Sprintf("%d,%d,%s,%d,1", rank, step, phase, tokens))
				step++
			}
		}
	}
	steps := len(want) / e.tp
	got := e.rows(`SELECT rank, step, phase, token_count, request_count FROM tap.steps
		WHERE run_id = xxh3(concat('%s', char(31))) AND step < %d ORDER BY rank, step`, run, steps)
	e.check("steps, phases, tokens", fmt.Sprintf("%d steps a rank", steps), differs(got, want))
}

// checkRequests holds the requests of each step against what was asked.
func (e engineTrial) checkRequests(run string, requests []inference) {
	var want []string
	for rank := range e.tp {
		for _, r := range requests {
			for token := range r.tokens {
				phase, first, count := "decode", len(r.prompt)+token-1, 1
				if token == 0 {
					phase, first, count = "prefill", 0, len(r.prompt)
				}
				want = append(want, fmt.Sprintf("%d,%s,%s,%d,%d,0,%d", rank, r.name, phase, first, count, len(r.prompt)))
			}
		}
	}
	got := e.rows(`SELECT rank, extract(request, '(?:cmpl-)?([a-z]+)') AS name, phase, first_position, token_count, row_offset, prompt_token_count
		FROM tap.requests WHERE run_id = xxh3(concat('%s', char(31))) AND name NOT IN ('lasting', 'spoken') ORDER BY rank, step`, run)
	e.check("requests, positions", fmt.Sprintf("%d requests", len(requests)), differs(got, want))
}

// checkKvCache looks whether each rank tells how much of its KV cache is in use, and never more than there is.
func (e engineTrial) checkKvCache(run string) {
	got := e.rows(`SELECT rank, max(allocated_bytes) > 0, min(reserved_bytes) > 0, max(allocated_bytes) <= min(reserved_bytes) FROM tap.memories
		WHERE run_id = xxh3(concat('%s', char(31))) AND component = 'kv' GROUP BY rank ORDER BY rank`, run)
	var want []string
	for rank := range e.tp {
		want = append(want, fmt.Sprintf("%d,1,1,1", rank))
	}
	figure := strings.Join(e.rows(`SELECT DISTINCT basis FROM tap.memories WHERE run_id = xxh3(concat('%s', char(31))) AND component = 'kv'`, run), "; ")
	e.check("use and capacity of the KV cache", figure, differs(got, want))
}

// checkCompare lets compare find the weight that was scaled.
func (e engineTrial) checkCompare() {
	out := program.Run(e, e.up.Setting, "compare", "bad", "good")
	began := fmt.Sprintf("began at     step 0, rank %d, op Module.model.layers.1.mlp.gate_up_proj.MergedColumnParallelLinear.forward.0", e.tp-1)
	var err error
	if out.Status != program.ExitDiffers || !strings.Contains(out.Stdout, began) {
		err = fmt.Errorf("lacks %q: %v", began, out)
	}
	e.check("compare names the scaled module", fmt.Sprintf("layers.1.mlp.gate_up_proj, rank %d", e.tp-1), err)
}

// killLastRank kills a worker in the middle of a request as an out-of-memory killer does.
func (e engineTrial) killLastRank(s *modelServer) {
	e.killInRequest(s, "bad")
	e.up.Settle(e)
	last := e.lastStep("bad")
	var err error
	state := e.rows(`SELECT state, op FROM tap.ranks_report(run = 'bad', silent_seconds = 10, now_ns = -1) WHERE rank = %d`, e.tp-1)
	if len(state) != 1 || !strings.HasPrefix(state[0], "died,Module.") {
		err = fmt.Errorf("the rank that was killed is %q at step %d", state, last)
	}
	e.check("kill -9 of a worker: events and op are there", fmt.Sprintf("%s at step %d", state, last), err)
}

// killInRequest kills the last rank while it decodes, and returns its process when the server has ended of it.
func (e engineTrial) killInRequest(s *modelServer, run string) (pid int) {
	answered := make(chan error, 1)
	before := e.lastStep(run)
	go func() { answered <- s.generate(e.Context(), lasting()) }()
	err := program.Await(time.Minute, "steps of a long request", func() bool { return e.lastStep(run) > before+3 })
	pid, parsed := strconv.Atoi(e.rows(`SELECT pid FROM tap.ranks WHERE run_id = xxh3(concat('%s', char(31))) AND rank = %d`, run, e.tp-1)[0])
	if err != nil || parsed != nil {
		e.Fatal(err, parsed)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		e.Fatal(err)
	}
	<-answered
	s.wait(e)
	return pid
}

func (e engineTrial) lastStep(run string) int {
	rows := e.rows(`SELECT max(step) FROM tap.steps WHERE run_id = xxh3(concat('%s', char(31))) AND rank = %d`, run, e.tp-1)
	number, err := strconv.Atoi(rows[0])
	if err != nil {
		e.Fatal(err)
	}
	return number
}

// serveAsMsprobe has the engine drive us as its msProbe, and compares with the run in which we attached to it.
func (e engineTrial) serveAsMsprobe(model string) {
	config := program.TextFile(e, `{"task": "statistics", "dump_path": "/ignored", "rank": [], "step": [], "level": "L0", "statistics": {"scope": [], "list": [], "data_mode": ["all"], "summary_mode": "statistics"}}`)
	driven := e
	driven.engine.flags = append(slices.Clone(e.engine.flags), "--msprobe-dump-config", config)
	s := driven.start("driven", model, "--as-msprobe")
	e.answer(s, asked())
	s.stop(e)
	e.up.Settle(e)
	out := program.Run(e, e.up.Setting, "compare", "driven", "good", "--steps", fmt.Sprintf("0-%d", stepsOf(asked())-1))
	var err error
	if out.Status != program.ExitSame || !strings.HasPrefix(out.Stdout, "SAME") {
		err = fmt.Errorf("%v", out)
	}
	e.check("--as-msprobe sees what the attach sees", fmt.Sprintf("%d steps", stepsOf(asked())), err)
}

// checkStates asks what has become of all ranks.
func (e engineTrial) checkStates(run, want string) {
	got := e.rows(`SELECT DISTINCT state FROM tap.ranks_report(run = '%s', silent_seconds = 10, now_ns = -1)`, run)
	e.check("an orderly shutdown is one", want, differs(got, []string{want}))
}

// checkUncounted looks for what is no step, which is counted.
func (e engineTrial) checkUncounted(run, subject string) {
	got := e.rows(`SELECT rank, sum(unseen_count) FROM tap.unseen_counts
		WHERE run_id = xxh3(concat('%s', char(31))) AND reason = 'serves no request' AND subject = '%s' GROUP BY rank ORDER BY rank`, run, subject)
	var want []string
	for rank := range e.tp {
		want = append(want, fmt.Sprintf("%d,1", rank))
	}
	e.check(subject+" is no step, and counted", "", differs(got, want))
}

// rows asks the system, and returns each row as text.
func (e engineTrial) rows(query string, values ...any) []string {
	e.Helper()
	var rows []string
	for _, row := range e.up.Query(e, fmt.Sprintf(query, values...)) {
		rows = append(rows, strings.Join(row, ","))
	}
	return rows
}

func (e engineTrial) check(what, figure string, err error) {
	e.Helper()
	e.results.add(e.engine.name, e.tp, what, figure, err)
	if err != nil {
		e.Errorf("%s tp=%d: %s: %v", e.engine.name, e.tp, what, err)
	}
}

func differs(got, want []string) error {
	if slices.Equal(got, want) {
		return nil
	}
	return fmt.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
}
