package load

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
)

// lookEvery is how often the tables are asked what they have: seldom where no lag is measured.
func lookEvery() time.Duration {
	if *fixedRate > 0 {
		return time.Second
	}
	return 200 * time.Millisecond
}

// place is a rank of a run.
type place struct {
	run  uint64
	rank uint32
}

// lagging asks all the time what is queryable, and notes how long after it was due each step is.
type lagging struct {
	query string

	mutex sync.Mutex
	seen  map[place]uint32 // the next step of each rank
	lags  []float64        // seconds, since they were taken last
	since int64            // when what was seen last of all ranks was due
}

// watch begins to ask, until the test ends.
func watch(tb testing.TB, w *world) *lagging {
	tb.Helper()
	l := &lagging{seen: map[place]uint32{}, since: time.Now().UnixNano()}
	l.query = fmt.Sprintf("SELECT run_id, rank, step, event_time_ns FROM tap_store.tensor WHERE run_id IN (%s) AND site_id = %d", runIDs(), w.crowd.site)
	ctx, stop := context.WithCancel(context.WithoutCancel(tb.Context()))
	var looking errgroup.Group
	looking.Go(func() error {
		for ctx.Err() == nil {
			if err := l.look(ctx, w); err != nil && ctx.Err() == nil {
				return err
			}
			select {
			case <-ctx.Done():
			case <-time.After(lookEvery()):
			}
		}
		return nil
	})
	tb.Cleanup(func() {
		stop()
		if err := looking.Wait(); err != nil {
			tb.Error(err)
		}
	})
	return l
}

// look asks for steps that were due since the oldest of the newest that were seen. A tensor of a step that is there tells
// of all: they came in one message.
func (l *lagging) look(ctx context.Context, w *world) (err error) {
	rows, err := w.conn.Query(ctx, l.query+fmt.Sprintf(" AND event_time_ns >= %d ORDER BY run_id, rank, step", l.since))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	now := time.Now()
	newest := map[place]int64{}
	for rows.Next() {
		var (
			at   place
			step uint32
			due  int64
		)
		if err := rows.Scan(&at.run, &at.rank, &step, &due); err != nil {
			return err
		}
		newest[at] = max(newest[at], due)
		l.saw(at, step, now.Sub(time.Unix(0, due)))
	}
	if err := rows.Err(); err != nil {
		return err
	}
	if len(newest) == w.crowd.of.Agents { // else some rank is behind
		l.since = slices.Min(slices.Collect(maps.Values(newest)))
	}
	return nil
}

func (l *lagging) saw(at place, step uint32, lag time.Duration) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if step >= l.seen[at] {
		l.seen[at] = step + 1
		l.lags = append(l.lags, lag.Seconds())
	}
}

// take is the lags since the last call, least first.
func (l *lagging) take() []float64 {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	lags := l.lags
	l.lags = nil
	slices.Sort(lags)
	return lags
}

// queryable is how many steps of ranks were seen.
func (l *lagging) queryable() (steps uint64) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	for _, next := range l.seen {
		steps += uint64(next)
	}
	return steps
}

// caughtUp returns once all those steps are queryable.
func (l *lagging) caughtUp(tb testing.TB, steps []uint64) {
	tb.Helper()
	var want uint64
	for _, n := range steps {
		want += n
	}
	await(tb, fmt.Sprint(want, " steps to be queryable"), func() bool {
		time.Sleep(20 * time.Millisecond)
		return l.queryable() >= want
	})
}

// peek is the lags since they were taken last, in the order in which they were seen.
func (l *lagging) peek() []float64 {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return slices.Clone(l.lags)
}
