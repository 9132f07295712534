package load

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/tensortap/tensortap/internal/dev/marked"
	"github.com/tensortap/tensortap/internal/dev/processes"
	"github.com/tensortap/tensortap/internal/dev/sizing"
)

// bounded is how long after a trial of a rate all of it has to be queryable: more is a lag that grows.
const bounded = 3 * time.Second

// TestLoad has a fleet of agents publish at a rate that holds, at twice that, and while something is wrong with one of the
// parts, or is replaced. Nothing is lost, nothing is stored twice, and no agent has to wait for the stream.
func TestLoad(t *testing.T) {
	t.Parallel()
	f := &sizing.Figures{Rate: *fixedRate, How: fmt.Sprintf("`go test ./e2e/load -agents %d -processes %d -tensors %d -window %v -rate %.0f`, %s, on %s.",
		*agents, *crowds, *tensors, *window, *fixedRate, time.Now().UTC().Format(time.DateOnly), processes.Machine())}
	if *fixedRate > 0 {
		const smallBytes = 64 << 20
		w := startWorld(t, smallBytes)
		w.steady(t, f)
		w.twice(t, f)
		w.harmed(t, f, *fixedRate)
		return
	}
	inOneAfterTheOther(t, f)
	t.Logf("\n%s", f.Markdown())
	if *write != "" && !t.Failed() {
		if err := marked.Write(*write, "load", f.Markdown()); err != nil {
			t.Fatal(err)
		}
	}
}

// inOneAfterTheOther measures in three worlds, so that the disk has room for each: the archive of the last is on a small disk.
func inOneAfterTheOther(t *testing.T, f *sizing.Figures) {
	t.Helper()
	t.Run("the greatest rate that holds", func(t *testing.T) {
		w := startWorld(t, 0)
		if f.Rate = greatest(50_000, func(rate float64) bool { return w.holds(t, rate) }); f.Rate == 0 {
			t.Fatal("no rate holds")
		}
	})
	t.Run("at that rate and at twice that", func(t *testing.T) {
		w := startWorld(t, 0)
		for !w.steady(t, f) {
			f.Rate *= 0.95 // it held for a short time only
		}
		w.twice(t, f)
		w.requireAllOnce(t)
		w.sizes(t, f)
	})
	t.Run("harms", func(t *testing.T) {
		const least = 64 << 20
		startWorld(t, least+2*int64(diskOf(f))).harmed(t, f, f.Rate/2)
	})
}

// harmed has publishers work while something is wrong, and while each role is replaced.
func (w *world) harmed(t *testing.T, f *sizing.Figures, rate float64) {
	t.Helper()
	w.crowd.at(t, rate)
	f.Harms = w.suffer(t)
	w.replace(t)
	w.requireAllOnce(t)
}

// diskOf is what the archive of all harms takes, about.
func diskOf(f *sizing.Figures) float64 {
	const windows = 12
	return f.Rate / 2 * windows * window.Seconds() * f.Bytes.Archive
}

// holds says whether everything that is published at that rate is queryable soon, and in the archive, and was published in time.
func (w *world) holds(t *testing.T, rate float64) bool {
	t.Helper()
	w.crowd.at(t, rate)
	during := w.crowd.steps(t, 0, *window/6)
	return w.drained(t, rate, during)
}

// drained ends a trial, and says whether the rate held.
func (w *world) drained(t *testing.T, rate float64, during tally) bool {
	t.Helper()
	begin := time.Now()
	rest := w.crowd.rest(t)
	w.lag.caughtUp(t, rest.Steps)
	queryable := time.Since(begin)
	w.stored(t, archive)
	archived := time.Since(begin)
	lags := w.lag.take()
	t.Logf("%.0f events a second: queryable after p50 %.2f s, p99 %.2f s; at the end all after %.1f s, archived after %.1f s; published %.1f s late at most",
		rate, quantile(lags, 0.5), quantile(lags, 0.99), queryable.Seconds(), archived.Seconds(), during.Late)
	return queryable < bounded && archived < bounded+archiveAge && during.Late < 1
}

// steady measures the fleet at the rate, and says whether that held.
func (w *world) steady(t *testing.T, f *sizing.Figures) bool {
	t.Helper()
	w.crowd.at(t, f.Rate)
	w.crowd.steps(t, 1, *window/10)
	w.lag.take()
	m := w.measure(t)
	before := w.crowd.now(t)
	during := w.crowd.steps(t, 1, *window)
	f.Parts = m.end(t, w.crowd.events(during.Steps)-w.crowd.events(before.Steps))
	f.Lag, f.Calls = quantilesOf(w.lag.take()), quantilesOf(during.Calls)
	w.requireTold(t, during)
	return w.drained(t, f.Rate, during)
}

// twice has the agents publish twice as much.
func (w *world) twice(t *testing.T, f *sizing.Figures) {
	t.Helper()
	w.crowd.at(t, 2*f.Rate)
	begin, before := time.Now(), w.crowd.now(t)
	during := w.crowd.steps(t, 2, *window)
	f.Twice.Rate = (w.crowd.events(during.Steps) - w.crowd.events(before.Steps)) / time.Since(begin).Seconds()
	w.requireTold(t, during)
	if *fixedRate == 0 {
		f.Twice.Recovery = w.recovery(t, f).Seconds()
	}
	w.lag.caughtUp(t, w.crowd.rest(t).Steps)
	if lags := w.lag.take(); len(lags) > 0 {
		f.Twice.Lag = lags[len(lags)-1]
	}
	t.Logf("at twice the rate %.0f events a second were published, and queryable within %.1f s", f.Twice.Rate, f.Twice.Lag)
}

// recovery is how long it takes at half the rate until what becomes queryable within a second is no older than before.
func (w *world) recovery(t *testing.T, f *sizing.Figures) time.Duration {
	t.Helper()
	w.crowd.at(t, f.Rate/2)
	begin := time.Now()
	await(t, "the lag to be what it was", func() bool {
		from := len(w.lag.peek())
		time.Sleep(time.Second)
		lags := w.lag.peek()[from:]
		slices.Sort(lags)
		return len(lags) > 0 && quantile(lags, 0.5) <= f.Lag.P99
	})
	return time.Since(begin)
}
