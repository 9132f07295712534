package scene

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/tensortap/tensortap/e2e/internal/program"
	"github.com/tensortap/tensortap/e2e/internal/torch"
)

// httpServer is testdata/serve_http.py under `tensortap run`.
type httpServer struct {
	address string
	cmd     *exec.Cmd
	stderr  *bytes.Buffer
}

// begin starts a server, and returns when it listens.
func begin(t *testing.T, at program.Setting, run string, flags, environment []string) *httpServer {
	t.Helper()
	at.Env = slices.Concat([]string{"REQUEST_LOG=" + t.TempDir()}, environment, at.Env)
	words := slices.Concat([]string{"run", "--run", run, "--logs=off"}, flags, []string{"--", torch.Python(t), "testdata/serve_http.py"})
	s := &httpServer{cmd: program.Command(t, at, words...), stderr: &bytes.Buffer{}}
	s.cmd.Stderr = s.stderr
	stdout, err := s.cmd.StdoutPipe()
	if err == nil {
		err = s.cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatalf("the server does not listen: %v\n%s", err, awaitEnd(s.cmd, s.stderr))
	}
	s.address = "http://127.0.0.1:" + strings.TrimSpace(strings.TrimPrefix(line, "listening on "))
	return s
}

// end stops the server, and returns what `tensortap run` printed.
func (s *httpServer) end(t *testing.T) program.Outcome {
	t.Helper()
	post(t, s.address+"/stop", "")
	said := awaitEnd(s.cmd, s.stderr)
	return program.Outcome{Status: s.cmd.ProcessState.ExitCode(), Stderr: said}
}

// ask sends what users of both APIs would.
func (s *httpServer) ask(t *testing.T) {
	t.Helper()
	for route, bodies := range map[string][]string{
		"/generate": {
			`{"text": "alpha", "sampling_params": {"max_new_tokens": 6, "temperature": 0}, "stream": true}`,
			`{"text": "beta!", "sampling_params": {"max_new_tokens": 4, "temperature": 0}}`,
		},
		"/v1/completions": {`{"prompt": "gamma rays", "max_tokens": 5, "temperature": 0, "user": "somebody"}`},
	} {
		for _, body := range bodies {
			post(t, s.address+route, body)
		}
	}
}

// resent is a row of replay-requests.
type resent struct {
	Request      string   `json:"request"`
	Route        string   `json:"route"`
	Verdict      string   `json:"verdict"`
	TokenIndex   *int     `json:"token_index"`
	Token        string   `json:"token"`
	Logprob      *float64 `json:"logprob"`
	Run          string   `json:"run"`
	Step         *int     `json:"step"`
	OtherToken   string   `json:"other_token"`
	OtherLogprob *float64 `json:"other_logprob"`
	OtherRun     string   `json:"other_run"`
	OtherStep    *int     `json:"other_step"`
}

// TestTheSameRequestsTellAFaultyServerFromAFixedOne records what users asked of a faulty server, sends it to both, and
// follows the first token that differs to the module.
func TestTheSameRequestsTellAFaultyServerFromAFixedOne(t *testing.T) {
	t.Parallel()
	u := program.StartUp(t, t.TempDir())
	u.Env = append(u.Env, "TENSORTAP_SPOOL="+t.TempDir(), "OMP_NUM_THREADS=1")
	faulty := []string{"FAULTY=1"}
	bad := begin(t, u.Setting, "bad", []string{"--keep-prompts"}, faulty)
	bad.ask(t)
	requireSaid(t, bad.end(t), 0, "run: requests that are recorded: 3; next: tensortap replay-requests --from bad --to URL")

	var servers sync.WaitGroup
	var fixed, again *httpServer
	servers.Go(func() { fixed = begin(t, u.Setting, "fixed", []string{"--level", "mix"}, nil) })
	servers.Go(func() { again = begin(t, u.Setting, "again", []string{"--level", "mix", "--keep-prompts"}, faulty) })
	servers.Wait()
	out := program.Run(t, u.Setting, "replay-requests", "--from", "bad", "--to", again.address)
	requireSaid(t, out, 0, "3 requests to "+again.address+": temperature 0, seed 0, one after the other", "SAME: 0 answers differ, 3 are the same")
	requireDiffer(t, u.Setting, again.address, fixed.address)
	live := program.Run(t, u.Setting, "replay-requests", "--from", "again", "--to", fixed.address, "--pace", "recorded")
	requireSaid(t, live, program.ExitDiffers, "at the recorded pace", "  recorded: ")
	requireReplayShown(t, u.Setting, again.address, fixed.address)
	requireSaid(t, again.end(t), 0, "run: requests that are recorded: ")
	requireSaid(t, fixed.end(t), 0, "without their text: they cannot be sent again (--keep-prompts keeps it)")
	requireNoPrompt(t, u.Setting)

	u.Settle(t)
	compared := program.Run(t, u.Setting, "compare", "again", "fixed")
	requireSaid(t, compared, program.ExitDiffers, "DIFFERS", "layers.1.out")
}

// requireDiffer has the answers of both servers compared: token, log probability and step are named.
func requireDiffer(t *testing.T, at program.Setting, faulty, fixed string) {
	t.Helper()
	words := []string{"replay-requests", "--from", "bad", "--to", faulty, "--also", fixed}
	out := program.Run(t, at, words...)
	requireSaid(t, out, program.ExitDiffers, "DIFFERS: ", "is the first that differs\n", ", log probability -", " of rank 0 of run again (", " of rank 0 of run fixed (", "next: tensortap compare again fixed, ")
	out = program.Run(t, at, append(words, "--output", "json")...)
	var answer struct {
		Rows []resent `json:"rows"`
	}
	if err := json.Unmarshal([]byte(out.Stdout), &answer); err != nil || out.Status != program.ExitDiffers || len(answer.Rows) != 3 {
		t.Fatalf("rows: %v: %v", err, out)
	}
	for _, r := range answer.Rows {
		if r.Verdict != "differs" {
			continue
		}
		if r.Token == r.OtherToken || r.Logprob == nil || *r.Logprob >= 0 || r.OtherLogprob == nil || r.TokenIndex == nil || r.Run != "again" || r.OtherRun != "fixed" || r.Step == nil || r.OtherStep == nil {
			t.Errorf("an answer that differs: %+v", r)
		}
	}
}

// requireReplayShown runs what documents show of replay-requests.
func requireReplayShown(t *testing.T, at program.Setting, to, also string) {
	t.Helper()
	at.Dir = t.TempDir()
	copyFile(t, "../../producers/requests/testdata/crash_dump_2026-11-21_10-03-50.pkl", at.Dir)
	shown := 0
	for _, document := range []string{"requests.md", "symptoms.md"} {
		for _, command := range commandsOf(t, document) {
			if command[0] != "replay-requests" {
				continue
			}
			shown++
			for i := range command {
				command[i] = strings.ReplaceAll(strings.ReplaceAll(command[i], "http://localhost:30000", to), "http://localhost:30001", also)
			}
			if out := program.Run(t, at, command...); out.Status != program.ExitDiffers && out.Status != program.ExitSame {
				t.Errorf("docs/%s shows tensortap %q: %v", document, command, out)
			}
		}
	}
	if shown == 0 {
		t.Error("no document shows replay-requests")
	}
}

// requireNoPrompt looks for users' words in what was recorded without leave, and for files that are stored already.
func requireNoPrompt(t *testing.T, at program.Setting) {
	t.Helper()
	count := program.Run(t, at, "query", `SELECT count() AS n, countIf(prompt != '' OR toString(fields) LIKE '%alpha%' OR toString(fields) LIKE '%somebody%') AS words
FROM tap_store.request_event WHERE run_id = xxh3(concat('fixed', char(31)))`, "--output", "csv")
	if rows := strings.Split(count.Stdout, "\n"); len(rows) < 2 || strings.HasPrefix(rows[1], "0,") || !strings.HasSuffix(rows[1], ",0") {
		t.Errorf("prompts without leave: %v", count)
	}
	out := program.Run(t, at, "replay-requests", "--from", "fixed", "--to", "http://127.0.0.1:9")
	requireSaid(t, out, program.ExitError, "requests of run fixed can be sent again: ", "its text was not kept; tensortap run --keep-prompts keeps it")
	out = program.Run(t, at, "replay-requests", "--from", "bad", "--to", "http://127.0.0.1:9")
	requireSaid(t, out, program.ExitError, "nothing can be said")
	requireSaid(t, out, out.Status, "http://127.0.0.1:9 cannot be reached: connection refused; it was to be sent request ", "http://127.0.0.1:9: 2 requests were not sent")
	out = program.Run(t, at, "replay-requests", "--from", "bda", "--to", "http://127.0.0.1:9")
	requireSaid(t, out, program.ExitError, "bad")
}
