package engines

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tensortap/tensortap/e2e/internal/program"
)

// notFinite is the word whose embedding is NaN in the model of that name.
const notFinite = 456

// culprit brings that word into a batch of others. No digit of its words is a special word, which tokenizers cut out of text.
func culprit() inference {
	return inference{name: "culprit", prompt: append(tokensFrom(333, 5), notFinite), tokens: 4, chat: true}
}

// bystanders are served before the culprit comes and when it has gone.
func bystanders() []inference {
	return []inference{{name: "alpha", prompt: tokensFrom(10, 12), tokens: 200}, {name: "beta", prompt: tokensFrom(100, 20), tokens: 200}}
}

// TestEngineScenes has one request of several bring a NaN, and then a worker killed while it decodes; `tensortap run`
// itself says both, and the reports name rank, op, step and requests.
func TestEngineScenes(t *testing.T) { //nolint:paralleltest // each engine needs the machine for itself
	folder := engineFolder(t)
	model := checkpoints(t, folder, 2, 128).nan
	results := newOutcomes(t, "scenes")
	for _, e := range engines() { //nolint:paralleltest // likewise
		for _, tp := range []int{1, 2} {
			t.Run(fmt.Sprintf("%s tp=%d", e.name, tp), func(t *testing.T) {
				logs := t.TempDir()
				e.flags = append(slices.Clone(e.flags), e.logged(logs)...)
				trial := engineTrial{TB: t, engine: e, tp: tp, folder: folder, up: program.StartUp(t, t.TempDir()), results: results}
				trial.playScene(model, logs)
			})
		}
	}
}

func (e engineTrial) playScene(model, logs string) {
	s := e.start("scene", model)
	e.servePoisoned(s)
	e.up.Settle(e)
	e.checkPoisoned()
	pid := e.killInRequest(s, "scene")
	e.up.Settle(e)
	e.checkCrash(pid)
	e.checkSaid(s)
	e.checkLife(s, logs)
}

// servePoisoned sends the culprit while others are served, and returns when all are answered.
func (e engineTrial) servePoisoned(s *modelServer) {
	answered := make(chan error, len(bystanders()))
	for _, r := range bystanders() {
		go func() { answered <- s.generate(e.Context(), r) }()
	}
	decoding := func() bool {
		return e.rows(`SELECT uniqExact(request) FROM tap.requests WHERE run_id = xxh3(concat('scene', char(31))) AND phase = 'decode'`)[0] == "2"
	}
	err := program.Await(time.Minute, "the steps of both bystanders", decoding)
	err = errors.Join(err, s.generate(e.Context(), culprit()))
	for range bystanders() {
		err = errors.Join(err, <-answered)
	}
	if err != nil {
		e.Errorf("serve: %v\n%s", err, s.tail())
	}
}

// report are the rows of a report.
func report[R any](e engineTrial, args ...string) []R {
	e.Helper()
	out := program.Run(e, e.up.Setting, append(append([]string{"report"}, args...), "--output", "json")...)
	var answer struct {
		Rows []R `json:"rows"`
	}
	if err := json.Unmarshal([]byte(out.Stdout), &answer); err != nil {
		e.Fatalf("report %q: %v: %v", args, err, out)
	}
	return answer.Rows
}

// nameOf is the name that was asked for, of the engine's own.
func nameOf(request string) string {
	return regexp.MustCompile(`^(?:(?:chat)?cmpl-)?([a-z]+)`).FindStringSubmatch(request)[1]
}

func (e engineTrial) checkPoisoned() {
	rows := report[struct {
		Request string `json:"request"`
		How     string `json:"how"`
		Op      string `json:"op"`
		Phase   string `json:"phase"`
		Step    int    `json:"first_step"`

		FiniteCount int `json:"finite_step_count"`
	}](e, "poisoned-requests", "--run", "scene")
	var got []string
	for _, r := range rows {
		how := r.How
		if how == "suspect" && r.FiniteCount > 0 {
			how = "shared" // it went on, and met later what the culprit had left in a page of the cache
		}
		got = append(got, nameOf(r.Request)+" "+how)
	}
	what := "one request brings a NaN: poisoned-requests names it and its batch"
	if len(rows) == 0 {
		e.check(what, "", errors.New("no row"))
		return
	}
	slices.Sort(got[1:]) // the engine places the others in its batch as it likes
	err := differs(got, []string{"culprit suspect", "alpha shared", "beta shared"})
	if !strings.HasPrefix(rows[0].Op, "Module.model.embed_tokens.") || rows[0].Phase != "prefill" {
		err = errors.Join(err, fmt.Errorf("of the culprit: %+v", rows[0]))
	}
	figure := fmt.Sprintf("%s, %s, %s in step %d; alpha, beta shared", rows[0].Request, rows[0].Phase, rows[0].Op, rows[0].Step)
	e.check(what, figure, err)
}

func (e engineTrial) checkCrash(pid int) {
	rows := report[struct {
		Rank      int      `json:"rank"`
		How       string   `json:"how"`
		Step      int      `json:"step"`
		Op        string   `json:"op"`
		PID       int      `json:"pid"`
		Requests  []string `json:"requests"`
		LastLines []string `json:"last_lines"`
	}](e, "crash", "--run", "scene")
	if len(rows) != e.tp {
		e.check("kill -9 while it decodes: report crash", "", fmt.Errorf("want %d ranks: %+v", e.tp, rows))
		return
	}
	var err error
	first := rows[0]
	if first.Rank != e.tp-1 || first.How != "died" || first.PID != pid || !strings.HasPrefix(first.Op, "Module.") || !slices.ContainsFunc(first.Requests, isLastingDecode) {
		err = fmt.Errorf("the first to go: %+v", first)
	}
	figure := fmt.Sprintf("rank %d died in step %d, %s, %s", first.Rank, first.Step, first.Op, first.Requests)
	e.check("kill -9 while it decodes: report crash", figure, err)
}

// isLastingDecode is so of the step under way, too, in which the model may not have been entered yet.
func isLastingDecode(request string) bool {
	before, _, _ := strings.Cut(request, " in step ")
	return nameOf(request) == "lasting" && strings.HasSuffix(before, " decode")
}

// checkSaid holds what `tensortap run` printed when the server had ended.
func (e engineTrial) checkSaid(s *modelServer) {
	var err error
	for _, want := range []string{
		fmt.Sprintf("run: crash: run scene: rank %d was the first to go: it died ", e.tp-1), "run: more of that: tensortap report crash --run scene",
		"run: overflow: run scene: NaN or infinity in step ", "run: poisoned-requests: run scene: request ", "run: more of that: tensortap report poisoned-requests --run scene",
	} {
		if !strings.Contains(s.said.String(), want) {
			err = errors.Join(err, fmt.Errorf("tensortap run did not print %q", want))
		}
	}
	if err != nil {
		err = errors.Join(err, errors.New(s.tail()))
	}
	e.check("tensortap run prints both by itself", "", err)
}

// lived is a row of report request.
type lived struct {
	Moment string `json:"moment"`
	Role   string `json:"role"`
	Rank   *int   `json:"rank"`
	Reason string `json:"reason"`
}

// checkLife publishes what the engine said of its requests beside the run, and asks for the life of the culprit.
func (e engineTrial) checkLife(s *modelServer, logs string) {
	if err := os.WriteFile(filepath.Join(logs, "printed.log"), []byte(s.said.String()), 0o600); err != nil {
		e.Fatal(err)
	}
	var err error
	if out := program.Run(e, e.up.Setting, "publish", "requests", logs, "--run", "scene"); out.Status != 0 {
		err = fmt.Errorf("%v", out)
	}
	rows := report[lived](e, "request", "--run", "scene", "--id", e.engine.prefix+culprit().name)
	rows = slices.DeleteFunc(rows, func(r lived) bool { return r.Role == "http" }) // the engine's own processes are looked at
	byEngine := e.engine.told()
	if len(rows) != len(byEngine)+1+e.tp*culprit().tokens {
		err = errors.Join(err, fmt.Errorf("%d moments: %+v", len(rows), rows))
	} else {
		err = errors.Join(err, differs(momentsOf(rows[:len(byEngine)], nil), byEngine), differs(momentsOf(rows[len(rows)-1:], nil), []string{"finished length"}))
	}
	for rank := range e.tp {
		err = errors.Join(err, differs(momentsOf(rows, &rank), []string{"prefill", "decode", "decode", "decode"}))
	}
	figure := strings.Join(byEngine, ", ") + fmt.Sprintf(", prefill, 3 decode on each of %d ranks, finished", e.tp)
	e.check("report request: one request across processes", figure, err)
	e.logReports()
}

// momentsOf are those that a rank served, or that the engine told of.
func momentsOf(rows []lived, rank *int) []string {
	var moments []string
	for _, r := range rows {
		if (r.Rank == nil) == (rank == nil) && (rank == nil || *r.Rank == *rank) {
			moments = append(moments, strings.TrimSpace(r.Moment+" "+r.Reason))
		}
	}
	return moments
}

// told are the moments before the first step that the engine itself tells of.
func (e engine) told() []string {
	if e.name == "sglang" {
		return []string{"received", "tokenised", "scheduled"}
	}
	return []string{"received", "scheduled"}
}

// logReports shows what a person sees.
func (e engineTrial) logReports() {
	for _, args := range [][]string{{"request", "--id", e.engine.prefix + culprit().name}, {"poisoned-requests"}, {"crash"}} {
		e.Log(program.Run(e, e.up.Setting, append([]string{"report", args[0], "--run", "scene"}, args[1:]...)...))
	}
}
