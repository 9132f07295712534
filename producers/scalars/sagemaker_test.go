package scalars_test

import (
	"testing"

	"github.com/tensortap/tensortap/producers/producertest"
	"github.com/tensortap/tensortap/producers/scalars"
)

const trial = "testdata/sagemaker" // make_sagemaker.py wrote it

func TestTrialsOfSageMakersDebuggerKeepThePromisesOfProducers(t *testing.T) {
	t.Parallel()
	producertest.Exercise(t, scalars.Tool(), trial+"/events/000000000002")
}

func TestNumbersOfSageMakersDebuggerAreOfTheirMode(t *testing.T) {
	t.Parallel()
	got, problems := metrics(t, trial)
	if problems.Count > 0 {
		t.Errorf("problems %v", problems)
	}
	want := `sagemaker debugger train rank 0 step 0 Sequential_2.bias = -0.2136969119310379, -1 decimals
sagemaker debugger train rank 0 step 0 MSELoss_output_0 = 0.033134762197732925, -1 decimals
sagemaker debugger train rank 0 step 0 gradient/Sequential_2.bias = -0.3529331684112549, -1 decimals
sagemaker debugger train rank 0 step 0 scalar/lr = 0.1, -1 decimals
sagemaker debugger train rank 0 step 2 Sequential_2.bias = -0.16045008599758148, -1 decimals
sagemaker debugger train rank 0 step 2 MSELoss_output_0 = 0.009937189519405365, -1 decimals
sagemaker debugger train rank 0 step 2 gradient/Sequential_2.bias = -0.15312176942825317, -1 decimals
sagemaker debugger train rank 0 step 2 scalar/lr = 0.1, -1 decimals
sagemaker debugger train rank 0 step 2 scalar/lr = 0.1, -1 decimals
sagemaker debugger eval rank 0 step 4 Sequential_2.bias = -0.1263233721256256, -1 decimals
sagemaker debugger eval rank 0 step 4 MSELoss_output_0 = NaN, -1 decimals
sagemaker debugger eval rank 0 step 4 scalar/lr = 0.1, -1 decimals`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
