package scene

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/tensortap/tensortap/e2e/internal/dap"
	"github.com/tensortap/tensortap/e2e/internal/program"
	"github.com/tensortap/tensortap/e2e/internal/torch"
	"github.com/tensortap/tensortap/internal/dev/testbed"
)

// debugged is a job of two ranks below `tensortap run`.
type debugged struct {
	program.Setting
	t      *testing.T
	python string
	script string
	folder string
}

func newDebugged(t *testing.T) debugged {
	t.Helper()
	folder := t.TempDir()
	script, err := filepath.Abs("testdata/debugged.py")
	if err != nil {
		t.Fatal(err)
	}
	return debugged{t: t, python: torch.Python(t), script: script, folder: folder, Setting: program.Setting{Data: t.TempDir(), Env: []string{
		"TENSORTAP_SPOOL=" + t.TempDir(), "OMP_NUM_THREADS=1", "GO=" + filepath.Join(folder, "go"),
	}}}
}

// start runs the job, which writes its results under the name.
func (d debugged) start(name, wait string, flags ...string) (*exec.Cmd, *said) {
	d.t.Helper()
	at := d.Setting
	at.Env = append([]string{"RESULT=" + filepath.Join(d.folder, name), "WAIT=" + wait}, d.Env...)
	// As a launcher starts ranks, which would be one more import of PyTorch.
	const ranks = `export WORLD_SIZE=2; RANK=0 "$@" & first=$!; RANK=1 "$@" & second=$!; wait $first && wait $second`
	args := append(append([]string{"run", "--run", name}, flags...), "--", "sh", "-c", ranks, "ranks", d.python, d.script)
	cmd := program.Command(d.t, at, args...)
	var heard said
	cmd.Stdout, cmd.Stderr = &heard, &heard
	cmd.SysProcAttr.Setpgid = true
	if err := cmd.Start(); err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) })
	return cmd, &heard
}

func (d debugged) await(heard *said, what string) {
	d.t.Helper()
	if err := program.Await(4*time.Minute, what, func() bool { return strings.Contains(heard.String(), what) }); err != nil {
		d.t.Fatalf("%v: %s", err, heard)
	}
}

// result is what a rank came to.
func (d debugged) result(name string, rank int) string {
	d.t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("%s.%d", filepath.Join(d.folder, name), rank))
	if err != nil {
		d.t.Error(err)
	}
	return string(text)
}

// line is that of the script which has the text.
func (d debugged) line(text string) int {
	d.t.Helper()
	source, err := os.ReadFile(d.script)
	if err != nil {
		d.t.Fatal(err)
	}
	before, _, found := strings.Cut(string(source), text)
	if !found {
		d.t.Fatalf("%s has no %q", d.script, text)
	}
	return strings.Count(before, "\n") + 1
}

// look reads stack and a variable of a rank that stands in its function.
func (d debugged) look(client *dap.Client, want string) (thread int) {
	d.t.Helper()
	thread, stack, err := client.Stopped()
	if err != nil {
		d.t.Fatal(err)
	}
	if len(stack) < 2 || stack[0].Name != "scaled" || stack[1].Name != "train" || stack[0].Source.Path != d.script {
		d.t.Fatalf("the rank stands in %+v", stack)
	}
	factor, err := client.Local(stack[0].ID, "factor")
	if err != nil || factor != want {
		d.t.Errorf("factor is %s, want %s: %v", factor, want, err)
	}
	return thread
}

// leave lets the rank go on, without breakpoints and debugger.
func (d debugged) leave(client *dap.Client, thread int) {
	d.t.Helper()
	steps := []struct {
		command  string
		argument map[string]any
	}{
		{"setBreakpoints", map[string]any{"source": map[string]any{"path": d.script}, "breakpoints": []any{}}},
		{"continue", map[string]any{"threadId": thread}},
		{"disconnect", map[string]any{"terminateDebuggee": false}},
	}
	for _, step := range steps {
		err := client.Request(step.command, step.argument, nil)
		if ended := step.command == "disconnect" && errors.Is(err, io.EOF); err != nil && !ended { // the job may be over by then
			d.t.Fatalf("%s: %v", step.command, err)
		}
	}
	_ = client.Close()
}

func (d debugged) requireEnded(cmd *exec.Cmd, heard *said) {
	d.t.Helper()
	if err := cmd.Wait(); err != nil {
		d.t.Fatalf("%v: %s", err, heard)
	}
}

// TestADebuggerAttachesToARankFromTheStart has an editor's protocol stop rank 1, look and go on: nothing is said of a hang, and
// each rank comes to the same result as without.
func TestADebuggerAttachesToARankFromTheStart(t *testing.T) {
	t.Parallel()
	d := newDebugged(t)
	base := testbed.FreePorts(t, 2)
	address := fmt.Sprintf("127.0.0.1:%d", base+1)
	cmd, heard := d.start("launched", "", "--debug", "1", "--debug-port", strconv.Itoa(base))
	d.await(heard, "run: rank 1 listens for a debugger at "+address+", once it has started")
	d.await(heard, "rank 1: a debugger can attach at "+address+"; the rank waits for it, 600 s at most")
	client := d.attach(address)
	d.requireSecondRefused(address)
	thread := d.look(client, "1.0")
	d.requireSilent("launched")
	d.leave(client, thread)
	d.requireEnded(cmd, heard)
	d.requireUndisturbed("launched")
	if said := heard.String(); strings.Contains(said, "hang") && !strings.Contains(said, "hangs are not told meanwhile; collectives of other ranks that wait for this one time out 1800 s after their call") {
		t.Error(said)
	}
}

// TestADebuggerAttachesToALivingRank does so with a rank that runs and listens nowhere.
func TestADebuggerAttachesToALivingRank(t *testing.T) {
	t.Parallel()
	d := newDebugged(t)
	base := testbed.FreePorts(t, 2)
	address := fmt.Sprintf("127.0.0.1:%d", base+1)
	cmd, heard := d.start("live", "1", "--debug-port", strconv.Itoa(base))
	d.requireAsked("live", heard, "rank 1, process ", "listens for a debugger at "+address, "for VS Code: ")
	client := d.attach(address)
	if err := os.WriteFile(filepath.Join(d.folder, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	d.leave(client, d.look(client, "0.25"))
	d.requireEnded(cmd, heard)
	d.requireUndisturbed("live")
	requireSaid(t, program.Run(t, d.Setting, "debug", "--run", "live", "--rank", "1"), 2, "start one with `tensortap up`")
}

// attach has a debugger attach, with one breakpoint.
func (d debugged) attach(address string) *dap.Client {
	d.t.Helper()
	client, err := dap.Dial(address)
	if err == nil {
		err = client.Attach(d.script, d.line("return gradient * factor"))
	}
	if err != nil {
		d.t.Fatal(err)
	}
	return client
}

// requireUndisturbed wants the results that the ranks come to alone.
func (d debugged) requireUndisturbed(name string) {
	d.t.Helper()
	var group errgroup.Group
	for rank := range 2 {
		cmd := exec.CommandContext(d.t.Context(), d.python, d.script) //nolint:gosec // of this test
		cmd.Env = append(os.Environ(), "OMP_NUM_THREADS=1", "WORLD_SIZE=2", "RANK="+strconv.Itoa(rank), "RESULT="+filepath.Join(d.folder, "plain"))
		group.Go(cmd.Run)
	}
	if err := group.Wait(); err != nil {
		d.t.Fatal(err)
	}
	for rank := range 2 {
		if got, want := d.result(name, rank), d.result("plain", rank); got != want || want == "" {
			d.t.Errorf("rank %d comes to another result: %s, want %s", rank, got, want)
		}
	}
}

// requireAsked asks rank 1 until it can be asked.
func (d debugged) requireAsked(run string, heard *said, wants ...string) {
	d.t.Helper()
	var out program.Outcome
	err := program.Await(4*time.Minute, "rank 1 to be asked", func() bool {
		out = program.Run(d.t, d.Setting, "debug", "--run", run, "--rank", "1")
		return out.Status == 0
	})
	if err != nil {
		d.t.Fatalf("%v: %v: %s", err, out, heard)
	}
	requireSaid(d.t, out, 0, wants...)
	requireSaid(d.t, program.Run(d.t, d.Setting, "debug", "--run", run, "--rank", "7"), 2, "it has no rank 7; its ranks are ")
}

// requireSecondRefused wants that a rank has one debugger.
func (d debugged) requireSecondRefused(address string) {
	d.t.Helper()
	second, err := dap.Dial(address)
	if err != nil {
		return
	}
	defer second.Close() //nolint:errcheck // nothing was written
	if err := second.Attach(d.script); err == nil {
		d.t.Error("a second debugger attaches to the same rank")
	} else {
		d.t.Logf("the second debugger: %v", err)
	}
}

// requireSilent wants that rank 0, which waits for the rank in the debugger, is no hang.
func (d debugged) requireSilent(run string) {
	d.t.Helper()
	err := program.Await(4*time.Minute, "rank 0 to wait and rank 1 to be in a debugger", func() bool {
		out := program.Run(d.t, d.Setting, "query", "SELECT (SELECT countIf(state != 'completed') FROM tap.collectives WHERE run_id = xxh3('"+run+"' || char(31))) > 0 AND "+
			"(SELECT countIf(rank = 1 AND debugged_since_time_ns IS NOT NULL) FROM tap.heartbeats WHERE run_id = xxh3('"+run+"' || char(31))) > 0", "--output", "csv")
		return strings.HasSuffix(strings.TrimSpace(out.Stdout), "1") || strings.HasSuffix(strings.TrimSpace(out.Stdout), "true")
	})
	if err != nil {
		d.t.Error(err)
	}
	out := program.Run(d.t, d.Setting, "report", "hang", "--run", run, "--waiting-seconds", "0", "--output", "csv")
	if rows := program.ParseCSV(d.t, out.Stdout); len(rows) != 1 {
		d.t.Errorf("a rank in a debugger is a hang: %v", out)
	}
}
