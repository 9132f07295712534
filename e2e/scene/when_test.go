package scene

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/tensortap/tensortap/e2e/internal/program"
	"github.com/tensortap/tensortap/e2e/internal/torch"
)

// stepsOf are the recorded steps of each rank, as "0: 1,2".
func stepsOf(t *testing.T, s program.Setting, run string) string {
	t.Helper()
	out := program.Run(t, s, "query", "--output", "csv",
		"SELECT concat(toString(rank), ': ', arrayStringConcat(arraySort(groupUniqArray(step)), ',')) AS steps FROM tap.steps WHERE run = '"+run+"' GROUP BY rank ORDER BY rank")
	rows := program.ParseCSV(t, out.Stdout)
	var lines []string
	for _, row := range rows[min(1, len(rows)):] {
		lines = append(lines, row[0])
	}
	return strings.Join(lines, "; ")
}

func newSetting(t *testing.T, env ...string) program.Setting {
	t.Helper()
	return program.Setting{Data: t.TempDir(), Env: append(env, "TENSORTAP_SPOOL="+t.TempDir(), "OMP_NUM_THREADS=1")}
}

// TestOnlyStepsOfOneRequestAreRecorded serves six requests by two workers, with a condition on one of them, and with one on a request that never comes.
func TestOnlyStepsOfOneRequestAreRecorded(t *testing.T) {
	t.Parallel()
	s := &server{Setting: launching(t), logs: t.TempDir()}
	var bodies []string
	for i := range 6 {
		bodies = append(bodies, fmt.Sprintf(`{"rid": "r%d", "text": "hello", "most": %d}`, i, 2+2*i))
	}
	requireSaid(t, s.serve(t, "one", bodies, "--when", "request=r3", "--level", "mix"), 0, "rank 1: step 0 is the first that fulfils request=r3",
		"run: condition: run one: rank 0: nothing is recorded: no step fulfilled request=r3; 10 steps were left out; 3 requests were seen, nearest r")
	if got := stepsOf(t, s.Setting, "one"); got != "1: 0,1,2,3,4,5,6,7" { // r1 and r5 go with it, and one goes on
		t.Errorf("recorded steps %s", got)
	}
	requireSaid(t, s.serve(t, "none", bodies, "--when", "request=r9"), 0, "run: condition: run none: rank 0: nothing is recorded: no step fulfilled request=r9; 10 steps were left out; 3 requests were seen, nearest r")
}

// TestConditionsOutliveAKill trains until it is killed, and again, with steps that are recorded on the rank whose loss grows.
func TestConditionsOutliveAKill(t *testing.T) {
	t.Parallel()
	s := launching(t)
	job := []string{"run", "--run", "grows", "--when", "loss>10 or step=1", "--", torch.Python(t), "testdata/when.py"}
	killed := s
	killed.Env = append([]string{"KILL=6"}, s.Env...)
	if out := program.Run(t, killed, job...); out.Status == 0 {
		t.Fatalf("not killed: %v", out)
	}
	if got := stepsOf(t, s, "grows"); got != "0: 1; 1: 1,4,5" {
		t.Errorf("before the kill, recorded steps %s", got)
	}
	again := program.Run(t, s, append([]string{"run", "--resume"}, job[1:]...)...)
	requireSaid(t, again, 0, "step 1 is the first that fulfils loss>10 or step=1; other ranks go by their own")
	if got := stepsOf(t, s, "grows"); got != "0: 1; 1: 1,4,5,6,7" {
		t.Errorf("after it, recorded steps %s", got)
	}
}

// TestTheFirstDifferenceIsRecordedInDetail runs a program that differs from its bench from step 4 on, and goes on until raw tensors are there.
func TestTheFirstDifferenceIsRecordedInDetail(t *testing.T) {
	t.Parallel()
	s := newSetting(t, "WORLD=1")
	u := program.StartUp(t, s.Data)
	job := []string{torch.Python(t), "testdata/when.py"}
	requireSaid(t, program.Run(t, s, append([]string{"run", "--run", "good", "--"}, job...)...), 0)
	requireSaid(t, program.Run(t, s, append([]string{"run", "--run", "some", "--when", "step=2-3", "--"}, job...)...), 0)
	requireSaid(t, program.Run(t, s, "compare", "some", "good"), program.ExitSame, "run some left out 6 steps of the other for its budget or conditions")
	differing := s
	differing.Env = append([]string{"DIFFER=4", "AWAIT=" + filepath.Join(s.Data, "payloads")}, s.Env...)
	out := program.Run(t, differing, append([]string{"run", "--run", "bad", "--bench", "good", "--when", "difference, step=5-", "--"}, job...)...)
	requireSaid(t, out, 0, "run: difference: step 4, rank 0, op Module.2.Linear.forward.0 of module 2 differs from run good",
		"run: difference: rank 0, process ", "tensortap: rank 0: 2 steps are recorded at level mix of 2 from step ", ", raw tensors below ")
	if kept := program.Run(t, s, "query", "--output", "csv", "SELECT DISTINCT step FROM tap.payloads WHERE run = 'bad'"); len(program.ParseCSV(t, kept.Stdout)) < 2 {
		t.Errorf("no raw tensors are kept: %v", kept)
	}
	if err := u.Stop(); err != nil {
		t.Error(err)
	}
	requireConditionsShown(t, s)
}

// requireConditionsShown runs what docs/conditions.md shows, with a program that does nothing, and of a run that has ended.
func requireConditionsShown(t *testing.T, s program.Setting) {
	t.Helper()
	text, err := os.ReadFile("../../docs/conditions.md")
	if err != nil {
		t.Fatal(err)
	}
	shown := regexp.MustCompile(`(?m)^    tensortap (.*)$`).FindAllStringSubmatch(string(text), -1)
	if len(shown) < 5 {
		t.Fatalf("docs/conditions.md shows %d commands", len(shown))
	}
	for _, match := range shown {
		var command []string
		for i, part := range strings.Split(match[1], "'") { // what is quoted is one word
			if command = append(command, part); i%2 == 0 {
				command = append(command[:len(command)-1], strings.Fields(part)...)
			}
		}
		if end := slices.Index(command, "--"); end >= 0 {
			command = append(append(slices.Clone(command[:end]), "--resume"), "--", "true")
			requireSaid(t, program.Run(t, s, command...), 0)
			continue
		}
		requireSaid(t, program.Run(t, s, command...), 2, "no system is running")
	}
}

func TestConditionsThatCannotBeReadAreRefusedBeforeTheProgramStarts(t *testing.T) {
	t.Parallel()
	s := newSetting(t)
	for when, want := range map[string]string{
		"requst=r3":            `--when "requst=r3": at character 1: requst is no condition: do you mean request?`,
		"loss>10,phase=decod":  `--when "loss>10,phase=decod": at character 15: decod is no phase: do you mean decode?`,
		"difference":           "--when difference: a difference from which run? Name it with --bench",
		"memory>70Gi or step=": `--when "memory>70Gi or step=": at character 8: 70Gi is no size, as 70GiB, 500MB or a number of bytes`,
	} {
		requireSaid(t, program.Run(t, s, "run", "--run", "never", "--when", when, "--", "touch", s.Data+"/started"), 2, want)
	}
	given := s
	given.Env = append([]string{"TENSORTAP_WHEN=requst=r3"}, s.Env...)
	requireSaid(t, program.Run(t, given, "run", "--", "touch", s.Data+"/started"), 2, `TENSORTAP_WHEN "requst=r3": at character 1: requst is no condition: do you mean request?`)
	if _, err := os.Stat(filepath.Join(s.Data, "started")); err == nil {
		t.Error("the program was started")
	}
	requireSaid(t, program.Run(t, s, "capture", "--run", "never", "--when", "difference"), 2, "--when difference: of a live run, tensortap watch --capture waits for that")
}
