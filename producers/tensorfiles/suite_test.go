package tensorfiles_test

import (
	"testing"

	"github.com/tensortap/tensortap/producers/producertest"
	"github.com/tensortap/tensortap/producers/tensorfiles"
)

func TestSavedTensorsKeepThePromisesOfProducers(t *testing.T) {
	t.Parallel()
	producertest.Exercise(t, tensorfiles.Tool(), saved)
}
