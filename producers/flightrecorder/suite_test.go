package flightrecorder_test

import (
	"testing"

	"github.com/tensortap/tensortap/producers/flightrecorder"
	"github.com/tensortap/tensortap/producers/producertest"
)

func TestFoldersOfPicklesKeepThePromisesOfProducers(t *testing.T) {
	t.Parallel()
	producertest.Exercise(t, flightrecorder.Tool(), "testdata/pickle")
}

func TestFoldersOfJSONKeepThePromisesOfProducers(t *testing.T) {
	t.Parallel()
	producertest.Exercise(t, flightrecorder.Tool(), "testdata/json")
}

func TestFilesOfTheFlightRecorderKeepThePromisesOfProducers(t *testing.T) {
	t.Parallel()
	producertest.Exercise(t, flightrecorder.Tool(), "testdata/nccl")
}
