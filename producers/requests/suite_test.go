package requests_test

import (
	"testing"
	"time"

	"github.com/tensortap/tensortap/producers/producertest"
	"github.com/tensortap/tensortap/producers/requests"
)

func TestRequestsKeepThePromisesOfProducers(t *testing.T) {
	t.Parallel()
	producertest.Exercise(t, requests.Tool(requests.Options{Zone: time.UTC}), "testdata")
}
