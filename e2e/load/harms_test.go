package load

import (
	"syscall"
	"testing"

	"github.com/tensortap/tensortap/e2e/internal/program"
	"github.com/tensortap/tensortap/internal/dev/sizing"
)

// harm is something wrong with a part.
type harm struct {
	name  string
	begin func(tb testing.TB, w *world) (end func()) // nil where it cannot be had here
	heals string                                     // the role that has to catch up afterwards; empty for none
}

func harms() []harm {
	return []harm{
		{"one slow consumer: the one of the tables stands still", freezeTables, tables},
		{"one full disk: the archive's", fillArchive, archive},
		{"one dead judge: killed", killJudge, ""},
	}
}

// publishedMeanwhile is how many steps each agent must publish while something is wrong.
const publishedMeanwhile = 2

// suffer has publishers work without and with each harm. Every agent has to go on, without a wait for the stream.
func (w *world) suffer(t *testing.T) (all []sizing.Harm) {
	t.Helper()
	for _, h := range harms() {
		before := w.crowd.steps(t, publishedMeanwhile, *window)
		end := h.begin(t, w)
		if end == nil {
			continue
		}
		during := w.crowd.steps(t, publishedMeanwhile, *window)
		end()
		w.requireTold(t, during)
		harm := sizing.Harm{Name: h.name, Calm: quantilesOf(before.Calls), During: quantilesOf(during.Calls)}
		if h.heals != "" {
			harm.Recovery = w.stored(t, h.heals).Seconds()
		}
		all = append(all, harm)
		t.Logf("%s: each agent goes on; a step is in the stream after %.1f ms, without that after %.1f; recovered in %.1f s",
			h.name, 1e3*harm.During.P50, 1e3*harm.Calm.P50, harm.Recovery)
	}
	return all
}

func quantilesOf(sorted []float64) sizing.Quantiles {
	return sizing.Quantiles{P50: quantile(sorted, 0.5), P99: quantile(sorted, 0.99)}
}

func freezeTables(tb testing.TB, w *world) func() {
	tb.Helper()
	process := w.roles[tables].Cmd.Process
	if err := process.Signal(syscall.SIGSTOP); err != nil {
		tb.Fatal(err)
	}
	return func() {
		if err := process.Signal(syscall.SIGCONT); err != nil {
			tb.Fatal(err)
		}
	}
}

// fillArchive returns once the role has said that it has no room.
func fillArchive(tb testing.TB, w *world) func() {
	tb.Helper()
	if !w.small {
		return nil
	}
	empty := program.Fill(tb, w.folder(), 0)
	await(tb, "word of the full disk", func() bool { return program.SaysFull(w.roles[archive].Stderr.String()) })
	return empty
}

func killJudge(tb testing.TB, w *world) func() {
	tb.Helper()
	if err := w.roles[judge].Kill(); err != nil {
		tb.Fatal(err)
	}
	return func() { w.start(tb, judge) }
}

// replace stops each role and starts it anew, as an upgrade does, while ranks publish.
func (w *world) replace(t *testing.T) {
	t.Helper()
	for _, role := range roleNames() {
		if err := w.roles[role].Stop(); err != nil {
			t.Errorf("%s: %v", role, err)
		}
		w.requireTold(t, w.crowd.steps(t, 1, 0))
		w.start(t, role)
	}
	w.requireTold(t, w.crowd.steps(t, 1, 0))
}
