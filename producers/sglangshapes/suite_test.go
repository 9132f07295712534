package sglangshapes_test

import (
	"testing"

	"github.com/tensortap/tensortap/producers/producertest"
	"github.com/tensortap/tensortap/producers/sglangshapes"
)

func TestShapeLogsKeepThePromisesOfProducers(t *testing.T) {
	t.Parallel()
	producertest.ExerciseLines(t, sglangshapes.Tool(), "testdata/sglang_shapes_old.jsonl")
}

func TestMemoryHasALimit(t *testing.T) { //nolint:paralleltest // its memory is watched
	producertest.NeedsLittleMemory(t, sglangshapes.Tool(), "testdata/sglang_shapes_old.jsonl")
}
