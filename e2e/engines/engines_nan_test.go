package engines

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/tensortap/tensortap/e2e/internal/program"
)

// TestEngineOnNaN serves a model that has a NaN in a weight of the last rank: that rank keeps the op which meets it, and all end.
func TestEngineOnNaN(t *testing.T) { //nolint:paralleltest // each engine needs the machine for itself
	folder := engineFolder(t)
	model := checkpoints(t, folder, 2, hiddenSize).broken
	results := newOutcomes(t, "not finite")
	for _, e := range engines() { //nolint:paralleltest // likewise
		t.Run(e.name+" tp=2", func(t *testing.T) {
			trial := engineTrial{TB: t, engine: e, tp: 2, folder: folder, up: program.StartUp(t, t.TempDir()), results: results}
			trial.serveBroken(model)
		})
	}
}

func (e engineTrial) serveBroken(model string) {
	s := e.start("broken", model, "--on-nan", "keep,stop")
	_ = s.generate(e.Context(), asked()[0]) // its server ends meanwhile
	s.wait(e)
	e.up.Settle(e)
	e.checkNamed(s)
	e.checkHalted(s)
	e.checkKeptOp()
	e.checkRepeats(s)
}

// checkNamed looks for the sentence that `tensortap run` prints at its end.
func (e engineTrial) checkNamed(s *modelServer) {
	want := fmt.Sprintf("run: not finite: run broken: step 0, rank %d, op %s of module model.layers.1.mlp.gate_up_proj: NaN in output 0", e.tp-1, projection)
	said := s.said.String()
	var err error
	_, line, found := strings.Cut(said, want)
	line, _, _ = strings.Cut(line, "\n")
	figure, _, _ := strings.Cut(line, "; to repeat the op: ")
	if !found || !strings.Contains(line, " of request ") {
		err = fmt.Errorf("tensortap run did not print %q with a request\n%s", want, s.tail())
	}
	e.check("--on-nan: tensortap run names rank, step, op and request", "rank 1, layers.1.mlp.gate_up_proj"+figure, err)
}

func (e engineTrial) checkHalted(s *modelServer) {
	var err error
	for rank := range e.tp {
		if want := fmt.Sprintf("tensortap: rank %d: ends after step 0, with status 86", rank); !strings.Contains(s.said.String(), want) {
			err = errors.Join(err, fmt.Errorf("not said: %q", want))
		}
	}
	if err != nil {
		err = errors.Join(err, errors.New(s.tail()))
	}
	e.check("all ranks end after that step, and the server with them", "", err)
}

func (e engineTrial) checkKeptOp() {
	got := e.rows(`SELECT step, op, has(groupArray(role) AS roles, 'input') AND has(roles, 'output') FROM tap.payloads
		WHERE run = 'broken' AND rank = %d GROUP BY step, op`, e.tp-1)
	e.check("the op's inputs and outputs of that step are kept", "", differs(got, []string{"0," + projection + ",1"}))
}

// checkRepeats runs the program that `tensortap run` names of the last rank, in the engine's environment and without the engine.
// vLLM for the CPU packs its weights into an object that has no form on the disk, so there the program says what it lacks.
func (e engineTrial) checkRepeats(s *modelServer) {
	what, want, status := "the program beside them makes the NaN again, alone", "again: ", program.ExitSame
	if e.engine.name == "vllm" {
		what, want, status = "the program beside them says what it lacks: the packed weights", "the op cannot be repeated without ", program.ExitError
	}
	named := regexp.MustCompile(fmt.Sprintf(`run: not finite: run broken: step 0, rank %d, .*to repeat the op: python (\S+/repeat\.py)`, e.tp-1)).FindStringSubmatch(s.said.String())
	if named == nil {
		e.check(what, "", errors.New("no program is named"))
		return
	}
	cmd := exec.CommandContext(e.Context(), filepath.Join(e.folder, e.engine.name, "bin", "python"), named[1]) //nolint:gosec // what was written by the run
	cmd.Env = append(os.Environ(), e.engine.environment(e.folder, 1)...)
	said, _ := cmd.CombinedOutput()
	_, figure, found := strings.Cut(string(said), want)
	figure, _, _ = strings.Cut(figure, "\n")
	var err error
	if !found || cmd.ProcessState.ExitCode() != status {
		err = fmt.Errorf("want status %d and %q of %s: %v\n%s", status, want, named[1], cmd.ProcessState, said)
	}
	e.check(what, figure, err)
}
