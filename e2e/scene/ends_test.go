package scene

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tensortap/tensortap/e2e/internal/program"
	"github.com/tensortap/tensortap/e2e/internal/torch"
	"github.com/tensortap/tensortap/internal/system"
)

// TestAnEngineThatCatchesWhatItDiesOfHasCrashed has a worker say in its log, in its engine's form, why it exits. Its program ends well.
func TestAnEngineThatCatchesWhatItDiesOfHasCrashed(t *testing.T) {
	t.Parallel()
	s := launching(t)
	for engine, message := range map[string]string{"vllm": "no blocks are left", "sglang": "no pages are left"} {
		out := program.Run(t, s, "run", "--run", engine, "--as-msprobe", "--", torch.Python(t), "testdata/ends.py", engine)
		if out.Status != 0 || !strings.Contains(out.Stderr, "report crash --run "+engine) {
			t.Errorf("%s: its crash is not told: %v", engine, out)
		}
		if first := crashOf(t, s, engine); first["how"] != "raised" || first["type"] != "RuntimeError" || first["message"] != message {
			t.Errorf("%s: %v", engine, first)
		}
	}
}

// TestAServerThatItsUserEndsWhileItIsIdleWasStopped asks it before where it is.
func TestAServerThatItsUserEndsWhileItIsIdleWasStopped(t *testing.T) {
	t.Parallel()
	s := launching(t)
	ready := filepath.Join(t.TempDir(), "ready")
	server := program.NewUp(s.Data, program.Command(t, s, "run", "--run", "idled", "--as-msprobe", "--", torch.Python(t), "testdata/ends.py", "idle", ready))
	if err := server.Begin(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Kill() })
	var asked system.Asked
	err := program.Await(program.Patience, "an idle server that answers", func() bool {
		if _, err := os.Stat(ready); err != nil {
			return false
		}
		out := program.Run(t, s, "poke", "--run", "idled", "--output", "json")
		return json.Unmarshal([]byte(out.Stdout), &asked) == nil && len(asked.Answers) == 1
	})
	if err != nil {
		t.Fatal(err)
	}
	if answer := asked.Answers[0]; answer.IdleSinceNs <= 0 || answer.IdleSinceNs > answer.NowNs || answer.NowNs-answer.IdleSinceNs > int64(program.Patience) {
		t.Errorf("poked, it is not idle: %+v", answer)
	}
	_ = server.Cmd.Process.Signal(syscall.SIGINT)
	select {
	case <-server.Ended:
	case <-time.After(program.Patience):
		t.Fatal("it does not end")
	}
	if status := server.Cmd.ProcessState.ExitCode(); status != 0 {
		t.Errorf("status %d: %s", status, server.Stderr)
	}
	if first := crashOf(t, s, "idled"); first["how"] != "stopped" || first["idle_since_time_ns"] == nil {
		t.Errorf("%v\n%s", first, server.Stderr)
	}
}

// crashOf is the first rank of the report.
func crashOf(t *testing.T, s program.Setting, run string) map[string]any {
	t.Helper()
	program.Shared(t).Settle(t)
	out := program.Run(t, s, "report", "crash", "--run", run, "--output", "json")
	var page struct{ Rows []map[string]any }
	if err := json.Unmarshal([]byte(out.Stdout), &page); err != nil || len(page.Rows) == 0 {
		t.Fatalf("%v: %v", err, out)
	}
	return page.Rows[0]
}
