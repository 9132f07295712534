package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tensortap/tensortap/internal/system"
	"github.com/tensortap/tensortap/schemas"
)

// messageRows is how many rows a message has at full load.
const messageRows = 8192

// measureThroughput publishes at full speed, and one event per message beside it.
func measureThroughput(ctx context.Context, e *env) (section, error) {
	var s section
	var r throughputs
	for range e.rounds {
		if err := e.throughputRound(ctx, &r); err != nil {
			return s, err
		}
	}
	r.figures(&s)
	s.note("Rows of all %d columns of `tensor`, %d per message; from the first row made until both stores have acknowledged the last message. "+
		"Producer, NATS server, both consumers in one process, the engine in its child.", len(schemas.Tensor().Columns), messageRows)
	s.note("With the judge at work: another run of as many rows is stored before. The same process judges each step against it as it lands: %d rows, of which one in %d differs. The rate counts rows alone; ends of steps and verdicts are stored beside them.",
		sitesPerStep, differsOnceIn)
	s.note("Sketch and digest are empty, as in dumps of msProbe's statistics. The archive waits at most %v for a file to fill, so that the end counts.", archiveAge)
	s.note("The naive way beside it: events published asynchronously, 4,096 at a time unacknowledged; a durable consumer that decodes JSON and inserts "+
		"batches of up to %d rows with clickhouse-go, and acknowledges each message afterwards. It stores no Parquet.", naiveBatch)
	return s, nil
}

// throughputs are events per second, and how many seconds the judge was behind.
type throughputs struct{ ours, judged, behind, naive, unsynced rounds }

func (r *throughputs) figures(s *section) {
	var slower, ratio, ratioUnsynced rounds
	for i, ours := range r.ours {
		slower = append(slower, r.judged[i]/ours)
		ratio = append(ratio, ours/r.naive[i])
		ratioUnsynced = append(ratioUnsynced, ours/r.unsynced[i])
	}
	s.add(r.ours.atLeast("one producer, stream synced always, into ClickHouse and Parquet", 700_000, thousandsPerSecond))
	s.add(r.judged.atLeast("the same with the judge at work", 600_000, thousandsPerSecond))
	s.add(slower.atLeast("of the rate without it", 0, share))
	s.add(r.behind.atMost("from both stores having the last row to the last step judged", 0, seconds))
	s.add(r.naive.atLeast("one JSON event per message, same stream server, into the same ClickHouse table only", 0, thousandsPerSecond))
	s.add(ratio.atLeast("ratio", 12, times))
	s.add(r.unsynced.atLeast("one JSON event per message, the server left at NATS's own sync interval of minutes", 0, thousandsPerSecond))
	s.add(ratioUnsynced.atLeast("ratio", 12, times))
}

// throughputRound measures our way, the same while it is judged, and both naive ones, one after the other.
func (e *env) throughputRound(ctx context.Context, r *throughputs) error {
	measure := func(to *rounds, what string, change func(*system.Config), rate func(context.Context, *server) (float64, error)) error {
		return e.withServer(ctx, change, func(ctx context.Context, s *server) error {
			v, err := rate(ctx, s)
			*to = append(*to, v)
			e.say("%s %s", thousandsPerSecond(v), what)
			return err
		})
	}
	return errors.Join(
		measure(&r.ours, "", shortArchiveAge, func(ctx context.Context, s *server) (float64, error) {
			defer e.profiling()()
			return e.throughput(ctx, s, e.messages())
		}),
		measure(&r.judged, "with the judge at work", shortArchiveAge, func(ctx context.Context, s *server) (float64, error) {
			rate, behind, err := e.judgedThroughput(ctx, s, e.messages())
			r.behind = append(r.behind, behind)
			return rate, err
		}),
		measure(&r.naive, "one JSON event per message", shortArchiveAge, func(ctx context.Context, s *server) (float64, error) {
			return naiveThroughput(ctx, s, e.pick(40_000, 5_000))
		}),
		measure(&r.unsynced, "the same, not synced", func(cfg *system.Config) { cfg.Temporary = true }, func(ctx context.Context, s *server) (float64, error) {
			return naiveThroughput(ctx, s, e.pick(150_000, 20_000))
		}),
	)
}

// messages is how many are published of our way.
func (e *env) messages() int {
	if e.rows > 0 {
		return max(1, e.rows/messageRows)
	}
	return e.pick(1200, 250)
}

const archiveAge = 500 * time.Millisecond

func shortArchiveAge(cfg *system.Config) { cfg.ArchiveAge = archiveAge }

// throughput is rows per second from the first row made until both stores have the last.
func (e *env) throughput(ctx context.Context, s *server, messages int) (float64, error) {
	publisher, err := s.publisher()
	if err != nil {
		return 0, err
	}
	g := newGenerator(schemas.RunID("throughput"), time.Now().UnixNano())
	b := schemas.NewBuilder[schemas.TensorRow]()
	cost := startCost()
	took, err := elapsed(func() error {
		for batch := range uint64(messages) {
			message, err := g.message(b, batch, messageRows)
			if err != nil {
				return err
			}
			if err := publisher.Publish(ctx, message); err != nil {
				return err
			}
		}
		if err := publisher.Flush(ctx); err != nil {
			return err
		}
		return s.stored(ctx, "clickhouse", "parquet")
	})
	if err != nil {
		return 0, err
	}
	rows := float64(messages) * messageRows
	e.say("processor time per million events: %s", cost.per(rows/1e6))
	return rows / took, s.holds(ctx, rows)
}

// holds makes sure that the table has so many rows.
func (s *server) holds(ctx context.Context, rows float64) error {
	n, err := s.number(ctx, "SELECT toFloat64(count()) FROM tap_store.tensor")
	if err == nil && n != rows {
		return fmt.Errorf("%.0f rows are stored of %.0f", n, rows)
	}
	return err
}
