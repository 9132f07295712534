package system

import (
	"context"
	"time"

	"github.com/rs/zerolog"

	"github.com/tensortap/tensortap/pipelines"
)

// delivery brings the stream to one store, whose own counters it can read.
type delivery struct {
	*pipelines.Delivery
	consumer string
	counts   func() any
}

// countersEvery is how often the counters are logged.
const countersEvery = time.Minute

// watch logs the counters of the deliveries until ctx ends.
func (s *System) watch(ctx context.Context, deliveries []delivery) error {
	tick := time.NewTicker(countersEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			s.tell(zerolog.DebugLevel, deliveries)
		case <-ctx.Done():
			return nil
		}
	}
}

func (s *System) tell(level zerolog.Level, deliveries []delivery) {
	for _, d := range deliveries {
		s.cfg.Log.WithLevel(level).Str("consumer", d.consumer).Any("delivery", d.Metrics().Snapshot()).Any("store", d.counts()).Msg("counters")
	}
}
