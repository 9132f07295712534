package sglangdumper_test

import (
	"testing"

	"github.com/tensortap/tensortap/producers/producertest"
	"github.com/tensortap/tensortap/producers/sglangdumper"
)

func TestDumpsKeepThePromisesOfProducers(t *testing.T) {
	t.Parallel()
	producertest.Exercise(t, sglangdumper.Tool(), "testdata/kinds")
}
