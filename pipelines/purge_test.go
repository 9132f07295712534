package pipelines_test

import (
	"fmt"
	"math"
	"syscall"
	"testing"
	"time"

	"github.com/tensortap/tensortap/internal/dev/natscluster"
	"github.com/tensortap/tensortap/pipelines"
	"github.com/tensortap/tensortap/schemas"
)

// TestWhereARunIsIsKnownWholeThoughTheServerStops has the server stand still for longer than is waited for a message.
func TestWhereARunIsIsKnownWholeThoughTheServerStops(t *testing.T) {
	t.Parallel()
	const messages, before = 3000, 10
	node := natscluster.StartOne(t)
	s := (&cluster{}).connect(t, node.URL())
	prepare(t, s, testConfig(t))
	run := schemas.RunID("deleted")
	for range messages {
		_, err := s.js.PublishAsync(fmt.Sprintf("tap.step.%s.0", schemas.FormatID(run)), nil)
		must(t, err)
	}
	<-s.js.PublishAsyncComplete()
	seen := 0
	frozen := func(string) bool {
		if seen++; seen == before {
			node.Signal(t, syscall.SIGSTOP)
			time.AfterFunc(3*time.Second, func() { node.Signal(t, syscall.SIGCONT) })
		}
		return true
	}
	var places schemas.BatchSet
	eventually(t, "the server answers", func() bool { // who removes runs asks again, too
		var err error
		places, _, err = pipelines.Places(t.Context(), s.js, run, frozen)
		return err == nil
	})
	if places.Count() != messages {
		t.Errorf("the run is in %d places, %d messages were published", places.Count(), messages)
	}
}

func TestTheStreamSaysWhichRunsItHas(t *testing.T) {
	t.Parallel()
	s := startStream(t)
	prepare(t, s, testConfig(t))
	gone, there := schemas.RunID("gone"), schemas.RunID("there")
	for rank := range 3 {
		for _, run := range []uint64{gone, there} {
			_, err := s.js.Publish(t.Context(), fmt.Sprintf("tap.step.%s.%d", schemas.FormatID(run), rank), nil)
			must(t, err)
		}
	}
	must(t, pipelines.PurgeRun(t.Context(), s.js, gone, []string{"step"}, math.MaxInt64))
	runs, err := pipelines.RunsInStream(t.Context(), s.js)
	must(t, err)
	if len(runs) != 1 || !runs[there] {
		t.Errorf("the stream has messages of %v, want of %d alone", runs, there)
	}
}
