package scene

import (
	"bufio"
	"bytes"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tensortap/tensortap/e2e/internal/program"
	"github.com/tensortap/tensortap/e2e/internal/torch"
)

// server is testdata/serve.py under `tensortap run`.
type server struct {
	program.Setting
	logs string // the folder of its request log
}

// serve starts the server, has it serve these requests at the same time, and returns what `tensortap run` printed.
func (s *server) serve(t *testing.T, run string, bodies []string, flags ...string) program.Outcome {
	t.Helper()
	at := s.Setting
	at.Env = append([]string{"REQUEST_LOG=" + s.logs}, s.Env...)
	command := append([]string{"run", "--run", run, "--logs=off"}, flags...)
	cmd := program.Command(t, at, append(command, "--", torch.Python(t), "testdata/serve.py")...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	stdout, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatalf("the server does not listen: %v\n%s", err, awaitEnd(cmd, &stderr))
	}
	address := "http://127.0.0.1:" + strings.TrimSpace(strings.TrimPrefix(line, "listening on "))
	var group sync.WaitGroup
	for _, body := range bodies {
		group.Go(func() { post(t, address+"/generate", body) })
	}
	group.Wait()
	post(t, address+"/stop", "")
	said := awaitEnd(cmd, &stderr)
	return program.Outcome{Status: cmd.ProcessState.ExitCode(), Stderr: said}
}

func awaitEnd(cmd *exec.Cmd, stderr *bytes.Buffer) string {
	_ = cmd.Wait() // its status is looked at
	return stderr.String()
}

func post(t *testing.T, url, body string) {
	t.Helper()
	client := http.Client{Timeout: 5 * time.Minute}
	answer, err := client.Post(url, "application/json", strings.NewReader(body)) //nolint:noctx // the client has a time
	if err != nil {
		t.Errorf("ask %s: %v", url, err)
		return
	}
	defer answer.Body.Close() //nolint:errcheck // only read
	if answer.StatusCode != http.StatusOK {
		t.Errorf("ask %s: %s", url, answer.Status)
	}
}

// poisoned is a row of report poisoned-requests.
type poisoned struct {
	Request string `json:"request"`
	How     string `json:"how"`
	Step    *int   `json:"first_step"`
	Rank    *int   `json:"rank"`
	Op      string `json:"op"`
	Phase   string `json:"phase"`
	Row     *int   `json:"row_offset"`
	Tokens  *int   `json:"token_count"`
	Hash    string `json:"prompt_hash"`
}

// TestTheRequestThatBringsANaNIsNamed has one of six requests, served at once by two workers, bring a token whose embedding is NaN.
func TestTheRequestThatBringsANaNIsNamed(t *testing.T) {
	t.Parallel()
	s := &server{Setting: launching(t), logs: t.TempDir()}
	out := s.serve(t, "served", sixRequests())
	const where = "Module.embed.Embedding.forward.0"
	requireSaid(t, out, 0, "that are recorded: 2",
		"run: overflow: run served: NaN or infinity in step 0, rank 0, op "+where+" of module embed, parameter weight, 1 NaN",
		"run: poisoned-requests: run served: request r3 (suspect, prefill) was in the first step that was not finite, step 0 of rank 1, op "+where+" of module embed",
		"and r1 (shared), r5 (shared)\n", "run: more of that: tensortap report poisoned-requests --run served")
	rows := report[poisoned](t, s.Setting, "poisoned-requests", "--run", "served")
	if len(rows) != 3 {
		t.Fatalf("poisoned requests: %+v", rows)
	}
	if r := rows[0]; r.Request != "r3" || r.How != "suspect" || *r.Step != 0 || *r.Rank != 1 || r.Op != where || *r.Row != 4 || *r.Tokens != 5 {
		t.Errorf("the request that brought it: %+v", r)
	}
	for _, r := range rows[1:] {
		if r.How != "shared" || *r.Rank != 1 || !slices.Contains([]string{"r1", "r5"}, r.Request) {
			t.Errorf("a request of the same step: %+v", r)
		}
	}
	s.requireLife(t)
	copyFile(t, "../../producers/requests/testdata/crash_dump_2026-11-21_10-03-50.pkl", s.logs)
	u := s.Setting
	u.Dir = s.logs
	requireShown(t, u, "requests.md")
}

// sixRequests are for both workers; the fourth has the token whose embedding is NaN.
func sixRequests() (bodies []string) {
	for i, text := range []string{"alpha", "beta", "gamma", "del~a", "epsilon", "zeta"} {
		most := 6 + i%3
		if i == 3 {
			most = 3
		}
		bodies = append(bodies, fmt.Sprintf(`{"rid": "r%d", "text": %q, "most": %d}`, i, text, most))
	}
	return bodies
}

func copyFile(t *testing.T, from, folder string) {
	t.Helper()
	content, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(filepath.Join(folder, filepath.Base(from)), content, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// requireShown runs each command that a document shows.
func requireShown(t *testing.T, at program.Setting, document string) {
	t.Helper()
	for _, command := range commandsOf(t, document) {
		if command[0] == "run" || command[0] == "replay-requests" { // which another test runs, with servers
			continue
		}
		if out := program.Run(t, at, command...); out.Status != 0 {
			t.Errorf("docs/%s shows tensortap %q: %v", document, command, out)
		}
	}
}

// commandsOf are the arguments of the commands of this program that a document shows, at least one.
func commandsOf(t *testing.T, document string) (commands [][]string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", document))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if command, ok := strings.CutPrefix(strings.TrimRight(line, "\n"), "    tensortap "); ok {
			commands = append(commands, strings.Fields(strings.ReplaceAll(command, "'", "")))
		}
	}
	if len(commands) == 0 {
		t.Fatalf("docs/%s shows no command", document)
	}
	return commands
}

// requireLife publishes the log of requests beside the run: the life of a request is then told across its processes.
func (s *server) requireLife(t *testing.T) {
	t.Helper()
	path := filepath.Join(s.logs, "request_log.json.log")
	requireSaid(t, program.Run(t, s.Setting, "publish", "requests", path, "--run", "served"), 0, "published 12 rows")
	requireSaid(t, program.Run(t, s.Setting, "publish", "requests", path, "--run", "served"), 0, "published before, nothing changes")
	hostile := program.TextFile(t, "\x80\x04cos\nsystem\n\x8c\x02id\x85R.")
	requireSaid(t, program.Run(t, s.Setting, "publish", "requests", hostile, "--run", "hostile"), program.ExitError, "it asks for os.system: it is refused")
	var moments []string
	for _, row := range report[struct {
		Moment string   `json:"moment"`
		Rank   *int     `json:"rank"`
		Step   *int     `json:"step"`
		After  *float64 `json:"after_ms"`
		Reason string   `json:"reason"`
	}](t, s.Setting, "request", "--run", "served", "--id", "r3") {
		text := row.Moment
		if row.Rank != nil {
			text += fmt.Sprintf(" rank %d step %d", *row.Rank, *row.Step)
		}
		if row.After == nil || *row.After < 0 {
			t.Errorf("a moment before the first: %+v", row)
		}
		moments = append(moments, text+regexp.MustCompile(`^.`).ReplaceAllString(row.Reason, " $0"))
	}
	want := []string{"received", "prefill rank 1 step 0", "decode rank 1 step 1", "decode rank 1 step 2", "finished length"}
	if !slices.Equal(moments, want) {
		t.Errorf("the life of r3 is %q, want %q", moments, want)
	}
	prompts := program.Run(t, s.Setting, "query", "SELECT count() FROM tap_store.request_event WHERE prompt != '' OR toString(fields) LIKE '%del~a%'", "--output", "csv")
	requireSaid(t, prompts, 0, "\n0\n")
}
