package logfiles_test

import (
	"testing"
	"time"

	"github.com/tensortap/tensortap/producers/logfiles"
	"github.com/tensortap/tensortap/producers/producertest"
)

func TestLogsKeepThePromisesOfProducers(t *testing.T) {
	t.Parallel()
	producertest.ExerciseLines(t, logfiles.Tool(time.UTC), "testdata/sglang_server.log")
}

func TestMemoryHasALimit(t *testing.T) { //nolint:paralleltest // its memory is watched
	producertest.NeedsLittleMemory(t, logfiles.Tool(time.UTC), "testdata/sglang_server.log")
}

func TestFoldersOfLogsKeepThePromisesOfProducers(t *testing.T) {
	t.Parallel()
	producertest.Exercise(t, logfiles.Tool(time.UTC), "testdata")
}
