package launch_test

import (
	"bytes"
	"os"
	"os/signal"
	"syscall"
	"testing"

	"github.com/tensortap/tensortap/internal/launch"
)

func TestAProgramRunsAsIfByHand(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		args   []string
		status int
		stdout string
		failed bool
	}{
		{"well", []string{"sh", "-c", `printf %s "$GIVEN"`}, 0, "given", false},
		{"status", []string{"sh", "-c", "exit 3"}, 3, "", false},
		{"killed", []string{"sh", "-c", "kill -9 $$"}, 137, "", false},
		{"not there", []string{"/no/such/program"}, 127, "", true},
		{"no program", []string{"/etc/passwd"}, 126, "", true},
		// The program signals us, and must get the signal back. It would wait for ever otherwise.
		{"signalled", []string{"sh", "-c", `trap 'exit 9' TERM; kill -TERM $PPID; while :; do sleep 0.01; done`}, 9, "", false},
	} {
		var stdout bytes.Buffer
		stopped := false
		status, err := launch.Run(launch.Program{
			Stopped: func() { stopped = true },
			Args:    c.args, Environment: append(os.Environ(), "GIVEN=given"), Stdout: &stdout, Stderr: os.Stderr,
		})
		if status != c.status || stdout.String() != c.stdout || (err != nil) != c.failed {
			t.Errorf("%s: status %d, want %d; stdout %q; error %v", c.name, status, c.status, stdout.String(), err)
		}
		if stopped != (c.name == "signalled") {
			t.Errorf("%s: stopped %v", c.name, stopped)
		}
	}
}

//nolint:paralleltest // what is ignored is the whole process's
func TestAnIgnoredSignalIsIgnoredByTheProgram(t *testing.T) {
	signal.Ignore(syscall.SIGHUP) // as nohup does
	defer signal.Reset(syscall.SIGHUP)
	status, err := launch.Run(launch.Program{Args: []string{"sh", "-c", "kill -HUP $$; exit 3"}, Stdout: os.Stdout, Stderr: os.Stderr})
	if status != 3 || err != nil {
		t.Errorf("status %d, want 3; error %v", status, err)
	}
}
