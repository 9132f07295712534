package tensorfiles_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tensortap/tensortap/producers/producertest"
	"github.com/tensortap/tensortap/producers/tensorfiles"
)

// trial is what SageMaker's debugger itself wrote; producers/scalars/testdata/make_sagemaker.py had it do so.
const trial = "../scalars/testdata/sagemaker"

func TestTrialsOfSageMakersDebuggerKeepThePromisesOfProducers(t *testing.T) {
	t.Parallel()
	producertest.Exercise(t, tensorfiles.Tool(), filepath.Join(trial, "events/000000000004"))
}

// The debugger's own index says which tensors are in the file of a step.
func TestTensorsOfSageMakersDebuggerAreThoseOfItsIndex(t *testing.T) {
	t.Parallel()
	got, problems := facts(t, trial)
	if problems.Count > 0 {
		t.Error(problems.First)
	}
	var want []string
	for _, step := range []int{0, 2, 4} {
		want = append(want, indexed(t, step)...)
	}
	names := make([]string, len(got))
	for i, line := range got {
		names[i], _, _ = strings.Cut(line, ".debug 0 torch.float")
	}
	if !slices.Equal(names, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(names, "\n"), strings.Join(want, "\n"))
	}
}

func indexed(t *testing.T, step int) (names []string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(trial, "index", "000000000", fmt.Sprintf("%012d_worker_0.json", step)))
	var index struct {
		Tensors []struct{ Tensorname string } `json:"tensor_payload"`
	}
	if err == nil {
		err = json.Unmarshal(text, &index)
	}
	if err != nil {
		t.Fatal(err)
	}
	met := map[string]int{}
	for _, one := range index.Tensors {
		names = append(names, fmt.Sprintf("rank 0 step %d %s.%d", step, one.Tensorname, met[one.Tensorname]))
		met[one.Tensorname]++
	}
	return names
}

func TestTensorsOfSageMakersDebuggerHaveTheirElements(t *testing.T) {
	t.Parallel()
	got, _ := facts(t, trial)
	for _, want := range []string{
		"rank 0 step 0 Sequential_0.weight.0.debug 0 torch.float32[2 3] NaN 0 infinite 0 max 0.3097158372402191",
		"rank 0 step 2 gradient/Sequential_2.weight.0.debug 0 torch.float32[1 2] NaN 0 infinite 0 max -0.03361298143863678",
		"rank 0 step 2 scalar/lr.1.debug 0 torch.float64[1] NaN 0 infinite 0 max 0.1",
		"rank 0 step 4 MSELoss_output_0.0.debug 0 torch.float32[] NaN 1 infinite 0 max 0",
	} {
		if !slices.Contains(got, want) {
			t.Errorf("lacks %q", want)
		}
	}
}

func TestAFileOfSageMakersDebuggerIsReadAlone(t *testing.T) {
	t.Parallel()
	got, problems := facts(t, filepath.Join(trial, "events/000000000004/000000000004_worker_0.tfevents"))
	if len(got) != 6 || problems.Count != 0 || !strings.HasPrefix(got[0], "rank 0 step 4 Sequential_0.weight") {
		t.Errorf("%q, %v", got, problems)
	}
}
