package scene

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/tensortap/tensortap/e2e/internal/program"
)

// statusHalted is that of a rank that on_nan has ended: _session/halting.py.
const statusHalted = 86

// rare trains testdata/rare.py, in which rank 1 makes a NaN in step 5.
func (j training) rare(t *testing.T, name string, args ...string) program.Outcome {
	t.Helper()
	command := append([]string{"run", "--run", name}, args...)
	return program.Run(t, j.Setting, append(command, "--", j.python, "testdata/rare.py")...)
}

// TestTheFirstNaNIsKeptAndAllRanksEnd has a NaN in a branch that one of two ranks takes in step 5.
func TestTheFirstNaNIsKeptAndAllRanksEnd(t *testing.T) {
	t.Parallel()
	j := newTraining(t)
	out := j.rare(t, "bad", "--on-nan", "keep,stop")
	const where = "step 5, op Module.rare.Rare.forward.0 of module rare: NaN in output 0, 32 of 32 elements, the first at [0, 0]"
	requireSaid(t, out, statusHalted,
		"tensortap: rank 1: "+where,
		"tensortap: rank 1: ends after step 5, with status 86, as on_nan asks: ",
		"tensortap: rank 0: ends after step 5, with status 86, as on_nan asks: rank 1: ",
		"run: not finite: run bad: step 5, rank 1, op Module.rare.Rare.forward.0 of module rare: NaN in output 0",
		"run: more of that: tensortap report failures --run bad")
	for _, rank := range []string{"0", "1"} {
		requireSaid(t, out, statusHalted, "rank "+rank+" leaves in order, the last step that it trained was ")
	}
	requireRepeats(t, j, out, "again: output 0: 32 of 32 elements are not finite, the first at [0, 0]: nan")
	requireKept(t, j)
}

// requireRepeats runs the program that `run` names, where no collector can be imported.
func requireRepeats(t *testing.T, j training, out program.Outcome, want string) {
	t.Helper()
	named := regexp.MustCompile(`run: not finite: .*to repeat the op: python (\S+/repeat\.py)`).FindStringSubmatch(out.Stderr)
	if named == nil {
		t.Fatalf("no program is named: %v", out)
	}
	if !strings.HasPrefix(named[1], filepath.Join(j.Data, "payloads")) {
		t.Errorf("%s is not among the raw tensors of %s", named[1], j.Data)
	}
	shadow := t.TempDir()
	if err := os.WriteFile(filepath.Join(shadow, "tensortap.py"), []byte("raise ImportError"), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), j.python, named[1]) //nolint:gosec // what was written by the run
	cmd.Dir, cmd.Env = shadow, append(os.Environ(), "PYTHONPATH="+shadow)
	if said, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(said), want) {
		t.Errorf("%s: %v, want %q:\n%s", named[1], err, want, said)
	}
}

// requireKept reads the rows of the kept tensors.
func requireKept(t *testing.T, j training) {
	t.Helper()
	const question = "SELECT op, role, path, location, step FROM tap.payloads WHERE run = 'bad' ORDER BY role"
	said := program.Run(t, j.Setting, "query", question, "--output", "csv")
	requireSaid(t, said, 0, "Module.rare.Rare.forward.0,input,0,", "Module.rare.Rare.forward.0,output,0,", "Module.rare.Rare.forward.0,parameter,weight,")
}

func TestWhatOnNanDoesNotKnowIsRefused(t *testing.T) {
	t.Parallel()
	out := program.Run(t, program.Setting{Data: t.TempDir()}, "run", "--on-nan", "keep,halt", "--", "true")
	requireSaid(t, out, program.ExitError, `--on-nan "keep,halt": want record, keep, stop, raise, or several with commas`)
}

// TestThePoisonedRequestIsNamedBesideWhatIsKept has one of six requests bring a token whose embedding is NaN, in inference mode.
func TestThePoisonedRequestIsNamedBesideWhatIsKept(t *testing.T) {
	t.Parallel()
	j := newTraining(t)
	s := &server{Setting: j.Setting, logs: t.TempDir()}
	out := s.serve(t, "kept", sixRequests(), "--on-nan", "keep")
	requireSaid(t, out, 0, "run: not finite: run kept: step 0, rank 1, op Module.embed.Embedding.forward.0 of module embed: NaN in output 0, 1 of ",
		"; of request r3; its parameter weight is not finite already; ")
	if strings.Contains(out.Stderr, "not finite: run kept: step 0, rank 0") {
		t.Errorf("a request of the other worker is blamed: %v", out)
	}
	requireRepeats(t, j, out, "again: output 0: 1 of ")
}
