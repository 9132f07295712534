package cli

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tensortap/tensortap/e2e/internal/program"
	"github.com/tensortap/tensortap/internal/dev/testbed"
)

// hold has the data folder for a while, as a long question of somebody else's does.
func hold(t *testing.T, data string, long time.Duration) {
	t.Helper()
	lock, err := os.OpenFile(filepath.Join(data, "lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	if _, err := lock.WriteString("a long question"); err != nil {
		t.Fatal(err)
	}
	released := time.AfterFunc(long, func() { _ = lock.Close() })
	t.Cleanup(func() { released.Stop(); _ = lock.Close() })
}

func TestRunWaitsForTheDataFolderAndSaysSo(t *testing.T) {
	t.Parallel()
	s := program.Setting{Data: t.TempDir(), Env: []string{"XDG_CACHE_HOME=" + t.TempDir()}}
	hold(t, s.Data, 1500*time.Millisecond)
	out := program.Run(t, s, "run", "--run", "patient", "--", "sh", "-c", "echo done")
	if out.Status != 0 || !strings.Contains(out.Stdout, "done") || strings.Count(out.Stderr, "waiting: ") != 1 {
		t.Errorf("run on a folder that is held: %v, want it to wait, to say so once, and to run", out)
	}
}

func TestASignalEndsTheWaitingForTheDataFolder(t *testing.T) {
	t.Parallel()
	s := program.Setting{Data: t.TempDir(), Env: []string{"XDG_CACHE_HOME=" + t.TempDir()}}
	hold(t, s.Data, time.Hour)
	var stderr testbed.Buffer
	cmd := program.Command(t, s, "run", "--run", "impatient", "--", "sh", "-c", "echo done")
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(program.Patience); !strings.Contains(stderr.String(), "waiting: ") && time.Now().Before(deadline); {
		time.Sleep(10 * time.Millisecond)
	}
	_ = cmd.Process.Signal(os.Interrupt)
	_ = cmd.Wait()
	if status := cmd.ProcessState.ExitCode(); status != program.ExitError || !strings.Contains(stderr.String(), "stopped while waiting: ") {
		t.Errorf("status %d, want %d\n%s", status, program.ExitError, &stderr)
	}
}
