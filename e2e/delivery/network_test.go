package delivery

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/Shopify/toxiproxy/v2/toxics"

	"github.com/tensortap/tensortap/internal/dev/network"
	"github.com/tensortap/tensortap/internal/dev/soak"
)

// weather is one way in which the network before both servers is bad.
type weather struct {
	name string
	// fault is what is wrong each time; nil where the network is down altogether.
	fault func(*rand.Rand) network.Fault
	// passable is whether all gets through while it lasts. Else it comes and goes.
	passable bool
	// breaks is whether it goes once it has broken off connections to both servers; else it goes after a while.
	breaks bool
}

// The ways in which the network is bad. Rates and delays are such that a tenth of a second's load takes seconds.
func weathers() []weather {
	return []weather{
		{name: "late, by another time each piece", passable: true, fault: func(*rand.Rand) network.Fault {
			return both(&toxics.LatencyToxic{Latency: 60, Jitter: 50})
		}},
		{name: "narrow", passable: true, fault: func(*rand.Rand) network.Fault { return both(&toxics.BandwidthToxic{Rate: 600}) }},
		{name: "in pieces", passable: true, fault: func(r *rand.Rand) network.Fault {
			return both(&toxics.SlicerToxic{AverageSize: 200 + r.IntN(800), SizeVariation: 150, Delay: 10})
		}},
		{name: "silent", fault: func(*rand.Rand) network.Fault { return network.Silent() }},
		{name: "answers are lost", fault: func(*rand.Rand) network.Fault { return network.Fault{Back: &toxics.TimeoutToxic{}} }},
		{name: "reset in the middle", breaks: true, fault: func(r *rand.Rand) network.Fault { return limited(r, true) }},
		{name: "closed in the middle", breaks: true, fault: func(r *rand.Rand) network.Fault { return limited(r, false) }},
		{name: "closed in the middle of an answer", breaks: true, fault: func(r *rand.Rand) network.Fault {
			return network.Fault{Back: &toxics.LimitDataToxic{Bytes: 50 + r.Int64N(2000)}}
		}},
		{name: "down"},
	}
}

// both is the same fault on both ways. Each has its own.
func both[T toxics.Toxic](fault T) network.Fault { return network.Fault{Toward: fault, Back: fault} }

// limited breaks off each connection once it has taken so many bytes toward the server: in a log-in, a header, a message,
// an insert.
func limited(r *rand.Rand, resets bool) network.Fault {
	return network.Fault{Toward: &toxics.LimitDataToxic{Bytes: 100 << r.IntN(11)}, Resets: resets}
}

// TestABadNetworkLosesAndDoublesNothing publishes folders and a live run to servers behind a network that is bad in every way, one
// after the other, and then in random ones, TENSORTAP_SOAK_KILLS of them.
func TestABadNetworkLosesAndDoublesNothing(t *testing.T) {
	t.Parallel()
	seed := networkSeed(t)
	random := rand.New(rand.NewPCG(seed, 0))
	b := newBehind(t)
	b.begin(t)
	all := weathers()
	for _, w := range all {
		b.endure(t, w, random)
	}
	for range soakKills(t, 2) {
		b.endure(t, all[random.IntN(len(all))], random)
	}
	b.requireAllOnce(t)
	t.Logf("%d and %d connections to NATS and ClickHouse broke off; %d publishers ended early: %v", b.nats.Broken(), b.database.Broken(), b.early, b.reasons)
}

// networkSeed is another each time, or that which is asked for.
func networkSeed(tb testing.TB) uint64 {
	tb.Helper()
	seed := uint64(time.Now().UnixNano())
	if text := os.Getenv("TENSORTAP_SOAK_SEED"); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			tb.Fatal(err)
		}
	}
	tb.Logf("TENSORTAP_SOAK_SEED=%d", seed)
	return seed
}

// endure has the weather be there while events flow, and returns when all that was published before it ended is stored.
func (b *behind) endure(t *testing.T, w weather, random *rand.Rand) {
	t.Helper()
	began := time.Now()
	if w.passable {
		b.set(w.fault(random))
		b.advance(t, w.name)
		b.set(network.Fault{})
	} else {
		b.worsen(t, w, random)
	}
	b.advance(t, "the network is good after "+w.name)
	t.Logf("%s: %v", w.name, time.Since(began).Round(10*time.Millisecond))
}

// worsen lets the weather come and go.
func (b *behind) worsen(t *testing.T, w weather, random *rand.Rand) {
	t.Helper()
	if w.fault == nil {
		if err := errors.Join(b.nats.Down(), b.database.Down()); err != nil {
			t.Fatal(err)
		}
		defer func() {
			ctx := context.WithoutCancel(t.Context())
			if err := errors.Join(b.nats.Up(ctx), b.database.Up(ctx)); err != nil {
				t.Fatal(err)
			}
		}()
		b.live(t, time.Second)
		return
	}
	nats, database := b.nats.Broken(), b.database.Broken()
	b.set(w.fault(random))
	defer b.set(network.Fault{})
	if !w.breaks {
		b.live(t, 2*time.Second)
		return
	}
	b.await(t, "connections to break off: "+w.name, func() bool { return b.nats.Broken() > nats && b.database.Broken() > database })
}

// TestConnectionsThatFallSilentAreReplaced has every connection to NATS take bytes and give none, for ever, as one whose other end
// has gone without a word. New connections are good.
func TestConnectionsThatFallSilentAreReplaced(t *testing.T) {
	t.Parallel()
	soak.Only(t)
	b := newBehind(t)
	b.begin(t)
	began := time.Now()
	b.nats.Stall()
	b.advance(t, "connections to NATS are silent")
	took := fmt.Sprint(time.Since(began).Round(time.Second))
	b.requireAllOnce(t)
	t.Log("stored all after", took)
}
