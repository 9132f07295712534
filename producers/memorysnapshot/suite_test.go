package memorysnapshot_test

import (
	"testing"

	"github.com/tensortap/tensortap/producers/memorysnapshot"
	"github.com/tensortap/tensortap/producers/producertest"
)

func TestASnapshotKeepsThePromisesOfProducers(t *testing.T) {
	t.Parallel()
	producertest.Exercise(t, memorysnapshot.Tool(), "testdata/traps.pickle")
}

func TestFoldersOfSnapshotsKeepThePromisesOfProducers(t *testing.T) {
	t.Parallel()
	producertest.Exercise(t, memorysnapshot.Tool(), "testdata/leak")
}

func TestSnapshotsOfMemoryKeepThePromisesOfProducers(t *testing.T) {
	t.Parallel()
	producertest.Exercise(t, memorysnapshot.Tool(), "testdata/old.pickle")
}
