package cli

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/tensortap/tensortap/e2e/internal/program"
)

func TestSpoolsThatAnotherUserCanWriteAreRefusedBeforeAnythingStarts(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	root, marker := filepath.Join(data, "tensortap-1000"), filepath.Join(data, "marker")
	if err := os.Mkdir(root, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(root, 0o777); err != nil { //nolint:gosec // as a stranger leaves it
		t.Fatal(err)
	}
	s := program.Setting{Data: filepath.Join(data, "tap"), Env: []string{"TENSORTAP_SPOOL=" + root}}
	for _, command := range []string{"up", "run --run none -- touch " + marker, "agent --nats " + program.Shared(t).Endpoint.NATS} {
		out := program.Run(t, s, strings.Fields(command)...)
		if out.Status != 2 {
			t.Errorf("%s: %v, want status 2", command, out)
		}
		for _, part := range []string{root, "may be written by other users (mode 0777)", "remove it", "--spool or TENSORTAP_SPOOL"} {
			if !strings.Contains(out.Stderr, part) {
				t.Errorf("%s: %v, want %q in it", command, out, part)
			}
		}
	}
	if _, err := os.Stat(marker); err == nil {
		t.Error("the program ran, and could not have been recorded")
	}
	if left, err := os.ReadDir(root); err != nil || len(left) > 0 {
		t.Errorf("in the root are %v, error %v, want nothing", left, err)
	}
}

func TestASecondSystemLeavesTheSpoolsOfTheFirstAlone(t *testing.T) {
	t.Parallel()
	first := program.Shared(t)
	root := filepath.Join(first.Data, "spool")
	holder := fmt.Sprintf("the folder of spools %s is read by process %d for the system on %s", root, first.Cmd.Process.Pid, first.Data)
	second := program.StartUp(t, t.TempDir(), "--spool", root)
	if said := second.Stderr.String(); strings.Count(said, holder) != 1 || !strings.Contains(said, "--spool or TENSORTAP_SPOOL") {
		t.Errorf("the second system says %s, want once %q", said, holder)
	}
	if said := second.Stdout.String(); !strings.Contains(said, root+", not read: see above\n") || strings.Contains(first.Stdout.String(), "not read") {
		t.Errorf("the second system says %s, want that it does not read %s", said, root)
	}
	second.Query(t, "SELECT 1") // and goes on without

	marker := filepath.Join(t.TempDir(), "marker")
	for _, data := range []string{second.Data, t.TempDir()} {
		out := program.Run(t, program.Setting{Data: data}, "run", "--run", "none", "--spool", root, "--", "touch", marker)
		if out.Status != 2 || !strings.Contains(out.Stderr, holder) {
			t.Errorf("a program into the system on %s: %v, want status 2 and %q", data, out, holder)
		}
	}
	if _, err := os.Stat(marker); err == nil {
		t.Error("the program ran, and would have been recorded by the other system")
	}
}

// madeByAnother makes the folder for all to write, as a second user does who comes first; only root can be two users.
func madeByAnother(tb testing.TB, folder string) (fault string) {
	tb.Helper()
	const nobody = 65534
	cmd := exec.CommandContext(tb.Context(), "mkdir", "-m", "0777", folder)
	fault = "may be written by other users (mode 0777)"
	if os.Geteuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
		fault = "belongs to user 65534 and not to this one, 0"
	} else {
		tb.Log("not root: the folder is this user's own, and open to all")
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		tb.Fatalf("make a folder as another: %v\n%s", err, out)
	}
	return fault
}

func TestTheDefaultSpoolsThatAnotherUserMadeFirstAreRefused(t *testing.T) {
	t.Parallel()
	shared, err := os.MkdirTemp("", "sticky-") //nolint:usetesting // others cannot enter the folders of a test
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(shared) })
	if err := os.Chmod(shared, 0o777|os.ModeSticky); err != nil {
		t.Fatal(err)
	}
	root := filepath.Join(shared, fmt.Sprintf("tensortap-%d", os.Getuid()))
	fault := madeByAnother(t, root)
	s := program.Setting{Data: filepath.Join(t.TempDir(), "tap"), Env: []string{"TENSORTAP_SPOOL=", "TMPDIR=" + shared}}
	out := program.Run(t, s, "up")
	if out.Status != 2 || !strings.Contains(out.Stderr, root) || !strings.Contains(out.Stderr, fault) {
		t.Errorf("up: %v, want status 2 and that %s %s", out, root, fault)
	}
	if _, err := os.Stat(s.Data); err == nil {
		t.Error("up has begun to make its data folder")
	}
}
