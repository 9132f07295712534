package kernelcalls_test

import (
	"testing"

	"github.com/tensortap/tensortap/producers/kernelcalls"
	"github.com/tensortap/tensortap/producers/producertest"
)

func TestLogsOfKernelCallsKeepThePromisesOfProducers(t *testing.T) {
	t.Parallel()
	producertest.ExerciseLines(t, kernelcalls.Tool(), "testdata/session.jsonl")
}

func TestMemoryHasALimit(t *testing.T) { //nolint:paralleltest // its memory is watched
	producertest.NeedsLittleMemory(t, kernelcalls.Tool(), "testdata/session.jsonl")
}
