package main

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/tensortap/tensortap/schemas"
)

const (
	publishEvery = 20 * time.Millisecond // between two messages
	askEvery     = 2 * time.Millisecond  // between an answer and the next question
)

// measureLatency publishes at a steady pace and asks the database all the time what it has.
func measureLatency(ctx context.Context, e *env) (section, error) {
	var s section
	for _, rate := range []int{20_000, 100_000} {
		var half, most, resolution rounds
		for range e.rounds {
			err := e.withServer(ctx, nil, func(ctx context.Context, s *server) error {
				waits, asked, err := latency(ctx, s, rate, time.Duration(e.pick(10, 4))*time.Second)
				if err != nil {
					return err
				}
				half, most, resolution = append(half, waits.quantile(0.5)), append(most, waits.quantile(0.99)), append(resolution, asked)
				e.say("%d events/s: p50 %s, p99 %s", rate, milliseconds(waits.quantile(0.5)), milliseconds(waits.quantile(0.99)))
				return nil
			})
			if err != nil {
				return s, err
			}
		}
		mark := 0.0
		if rate == 100_000 {
			mark = 0.25
		}
		s.add(half.atMost(fmt.Sprintf("%d k events/s, p50", rate/1000), 0, milliseconds))
		s.add(most.atMost(fmt.Sprintf("%d k events/s, p99", rate/1000), mark, milliseconds))
		s.add(resolution.atMost(fmt.Sprintf("%d k events/s, resolution", rate/1000), 0, milliseconds))
	}
	s.note("From the moment a message was due, one every %v whatever became of the ones before, until a query sees all of its rows. Durable system, archive included.", publishEvery)
	s.note("A query counts the rows of the table as often as it can, with pauses of %v; the resolution is the mean time between two answers. The first second is left out.", askEvery)
	return s, nil
}

// latency is how long each message took, and the mean time between two looks, in seconds.
func latency(ctx context.Context, s *server, rate int, during time.Duration) (waits rounds, resolution float64, err error) {
	rows := rate / int(time.Second/publishEvery)
	sent := make([]time.Time, during/publishEvery)
	var published atomic.Int64 // how many of sent are set
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return pace(ctx, s, rows, sent, &published) })
	group.Go(func() error {
		begin, answers, seen := time.Now(), 0, 0
		for seen < len(sent) {
			n, err := s.number(ctx, "SELECT toFloat64(count()) FROM tap_store.tensor")
			if err != nil {
				return err
			}
			now := time.Now()
			answers++
			for whole := min(int(n)/rows, int(published.Load())); seen < whole; seen++ {
				waits = append(waits, now.Sub(sent[seen]).Seconds())
			}
			resolution = now.Sub(begin).Seconds() / float64(answers)
			if err := rest(ctx, askEvery); err != nil {
				return err
			}
		}
		return nil
	})
	if err := group.Wait(); err != nil {
		return nil, 0, err
	}
	return waits[time.Second/publishEvery:], resolution, nil
}

// pace publishes one message a tick.
func pace(ctx context.Context, s *server, rows int, sent []time.Time, published *atomic.Int64) error {
	publisher, err := s.publisher()
	if err != nil {
		return err
	}
	g := newGenerator(schemas.RunID("latency"), time.Now().UnixNano())
	b := schemas.NewBuilder[schemas.TensorRow]()
	begin := time.Now()
	for i := range sent {
		message, err := g.message(b, uint64(i), rows) //nolint:gosec // a small number
		if err != nil {
			return err
		}
		sent[i] = begin.Add(time.Duration(i) * publishEvery) // being late counts as waiting
		if err := rest(ctx, time.Until(sent[i])); err != nil {
			return err
		}
		published.Add(1)
		if err := publisher.Publish(ctx, message); err != nil {
			return err
		}
	}
	return publisher.Flush(ctx)
}

func rest(ctx context.Context, pause time.Duration) error {
	select {
	case <-time.After(pause):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
