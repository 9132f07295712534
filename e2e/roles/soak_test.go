package roles

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tensortap/tensortap/e2e/internal/program"
)

// handOver is how long it may take until another process has stored what a dead one had.
const handOver = 10 * time.Second

// deed is something bad that happens to a fleet. It returns how long nothing, or not all, was stored for it.
type deed struct {
	name  string
	most  time.Duration // 0 where only loss and doubling count
	deals func(tb testing.TB, w *soaked) time.Duration
}

// soaked is a fleet of two engines, each with consumers of its own, and all events of the stream.
type soaked struct {
	*fleet
	consumers [][]*program.Up // by engine
	random    *rand.Rand
}

// TestSoak does all deeds by turns, for as long as TENSORTAP_ROLES_MINUTES says.
func TestSoak(t *testing.T) {
	t.Parallel()
	text := os.Getenv("TENSORTAP_ROLES_MINUTES")
	if text == "" {
		t.Skip("minutes: make soak WHAT=roles")
	}
	length, err := time.ParseDuration(text + "m")
	if err != nil {
		t.Fatal(err)
	}
	w := startSoaked(t)
	worst := map[string]time.Duration{}
	count := 0
	for end := time.Now().Add(length); time.Now().Before(end); {
		for _, d := range deeds() {
			took := d.deals(t, w)
			worst[d.name] = max(worst[d.name], took)
			count++
			if d.most > 0 && took > d.most {
				t.Errorf("%s: stored after %v, want within %v", d.name, took, d.most)
			}
			t.Logf("%s: stored after %.1f s, %d batches", d.name, took.Seconds(), ranks*w.published.Load())
			w.whole(t)
		}
	}
	w.requireAllOnce(t)
	var all []string
	for _, d := range deeds() {
		all = append(all, fmt.Sprintf("%s %.1f s", d.name, worst[d.name].Seconds()))
	}
	t.Logf("%d deeds, %d batches each stored once in two engines; the worst: %s", count, ranks*w.published.Load(), strings.Join(all, ", "))
}

func startSoaked(t *testing.T) *soaked {
	t.Helper()
	w := &soaked{fleet: startFleet(t, 2), random: rand.New(rand.NewPCG(1, 2))} //nolint:gosec // whom it hits
	for _, e := range w.engines {
		w.consumers = append(w.consumers, []*program.Up{w.consume(t, e), w.consume(t, e)})
	}
	w.load(t, 200*time.Millisecond)
	w.caughtUp(t)
	return w
}

func deeds() []deed {
	return []deed{
		{"a consumer is killed", handOver, killConsumer},
		{"a consumer is frozen", handOver, freezeConsumer},
		{"a consumer is stopped", handOver, stopConsumer},
		{"the server that leads is killed", 0, func(tb testing.TB, w *soaked) time.Duration { tb.Helper(); return w.killLeader(tb) }},
		{"the server that leads is frozen", 0, freezeLeader},
		{"a server is split off", 0, splitFirst},
	}
}

// victim is one consumer of any engine, and its place.
func (w *soaked) victim() (engine, place int) {
	return w.random.IntN(len(w.consumers)), w.random.IntN(len(w.consumers[0]))
}

// replace starts a consumer in the place of one that is gone, and waits until it has its share.
func (w *soaked) replace(tb testing.TB, engine, place int) {
	tb.Helper()
	next := w.consume(tb, w.engines[engine])
	w.consumers[engine][place] = next
	await(tb, "its share", func() bool { return strings.Contains(next.Stderr.String(), "a shard is this process's") })
}

func killConsumer(tb testing.TB, w *soaked) time.Duration {
	tb.Helper()
	engine, place := w.victim()
	if err := w.consumers[engine][place].Kill(); err != nil {
		tb.Fatal(err)
	}
	took := w.caughtUp(tb)
	w.replace(tb, engine, place)
	return took
}

func stopConsumer(tb testing.TB, w *soaked) time.Duration {
	tb.Helper()
	engine, place := w.victim()
	if err := w.consumers[engine][place].Stop(); err != nil {
		tb.Error(err)
	}
	took := w.caughtUp(tb)
	w.replace(tb, engine, place)
	return took
}

func freezeConsumer(tb testing.TB, w *soaked) time.Duration {
	tb.Helper()
	engine, place := w.victim()
	frozen := w.consumers[engine][place]
	freeze(tb, frozen)
	took := w.caughtUp(tb)
	thaw(tb, frozen)
	w.caughtUp(tb)
	return took
}

func freezeLeader(tb testing.TB, w *soaked) time.Duration {
	tb.Helper()
	w.whole(tb)
	n := w.Nodes[w.leader(tb)]
	n.Signal(tb, syscall.SIGSTOP)
	took := w.caughtUp(tb)
	n.Signal(tb, syscall.SIGCONT)
	return took
}

func splitFirst(tb testing.TB, w *soaked) time.Duration {
	tb.Helper()
	w.whole(tb)
	if err := w.First.Down(); err != nil {
		tb.Fatal(err)
	}
	took := w.caughtUp(tb)
	if err := w.First.Up(context.WithoutCancel(tb.Context())); err != nil {
		tb.Fatal(err)
	}
	return took
}
