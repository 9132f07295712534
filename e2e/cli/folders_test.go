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

// hold has the data folder until it is released, as a long question of somebody else's does.
func hold(t *testing.T, data string) (release func()) {
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
	release = func() { _ = lock.Close() }
	t.Cleanup(release)
	return release
}

func TestRunWaitsForTheDataFolderAndSaysSo(t *testing.T) {
	t.Parallel()
	s := program.Setting{Data: t.TempDir(), Env: []string{"XDG_CACHE_HOME=" + t.TempDir()}}
	release := hold(t, s.Data)
	var stdout, stderr testbed.Buffer
	cmd := program.Command(t, s, "run", "--run", "patient", "--", "sh", "-c", "echo done")
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	awaitWaiting(&stderr)
	release()
	if err := cmd.Wait(); err != nil || !strings.Contains(stdout.String(), "done") || strings.Count(stderr.String(), "waiting: ") != 1 {
		t.Errorf("run on a folder that is held: %v, %s%s, want it to wait, to say so once, and to run", err, &stdout, &stderr)
	}
}

func awaitWaiting(stderr *testbed.Buffer) {
	for deadline := time.Now().Add(program.Patience); !strings.Contains(stderr.String(), "waiting: ") && time.Now().Before(deadline); {
		time.Sleep(10 * time.Millisecond)
	}
}

func TestASignalEndsTheWaitingForTheDataFolder(t *testing.T) {
	t.Parallel()
	s := program.Setting{Data: t.TempDir(), Env: []string{"XDG_CACHE_HOME=" + t.TempDir()}}
	hold(t, s.Data)
	var stderr testbed.Buffer
	cmd := program.Command(t, s, "run", "--run", "impatient", "--", "sh", "-c", "echo done")
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	awaitWaiting(&stderr)
	_ = cmd.Process.Signal(os.Interrupt)
	_ = cmd.Wait()
	if status := cmd.ProcessState.ExitCode(); status != program.ExitError || !strings.Contains(stderr.String(), "stopped while waiting: ") {
		t.Errorf("status %d, want %d\n%s", status, program.ExitError, &stderr)
	}
}
