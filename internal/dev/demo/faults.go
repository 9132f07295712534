package main

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/tensortap/tensortap/internal/system"
	"github.com/tensortap/tensortap/schemas"
)

// What is wrong with the bad run:
//   - from step 12 on, layer 2 of rank 1 gives other values;
//   - from step 20 on, layer 2 of rank 2 gives NaN, while it answers the request req-7, and after it req-8;
//   - rank 0 takes 8 s for step 25 by itself, and loses events of step 26;
//   - rank 3 leaks 1 MiB a step, and in the last one runs out of memory and dies; the others wait for it in an all_reduce;
//   - one of its messages came to the stream damaged.
const (
	drawnRank, drawnSince     = 1, 12
	nanRank, nanSince         = 2, 20
	slowRank, slowStep        = 0, 25
	lossyStep, lostEvents     = 26, 5
	crashedRank               = 3
	faultyLayer, crashedLayer = 2, 1
	slowTime                  = 8 * time.Second
	leakPerStep               = 1 << 20
	firstServed, secondServed = 20, 23 // steps in which the requests begin
)

// fault is what a layer adds that it should not.
func (r *rank) fault(step uint32, layer int) float64 {
	switch {
	case !r.bad || layer != faultyLayer:
		return 0
	case r.number == drawnRank && step >= drawnSince:
		return 0.5
	case r.number == nanRank && step >= nanSince:
		return math.NaN()
	default:
		return 0
	}
}

// serve has the rank answer requests in some of its steps.
func (r *rank) serve(step uint32) {
	if r.number != nanRank || step < firstServed {
		return
	}
	name, first := "req-7", uint32(firstServed)
	if step >= secondServed {
		name, first = "req-8", secondServed
	}
	r.Put(schemas.SpoolRequestKind, &schemas.SpoolRequest{
		Name: r.Text(name), Phase: r.Text("decode"), TimeNs: r.Clock, PromptHash: uint64(first), FirstPosition: uint64(step-first) + 1, TokenCount: 1,
	})
}

// ownTime is what the rank works before it waits for the others.
func (r *rank) ownTime(step uint32) time.Duration {
	if r.number == slowRank {
		return r.slowest(step)
	}
	return usual
}

// slowest is the own time of the rank that takes longest.
func (r *rank) slowest(step uint32) time.Duration {
	if r.bad && step == slowStep {
		return slowTime
	}
	return usual
}

func (r *rank) dropped(step uint32) uint64 {
	if r.bad && r.number == slowRank && step == lossyStep {
		return lostEvents
	}
	return 0
}

func (r *rank) leaked(step uint32) uint64 {
	if r.bad && r.number == crashedRank {
		return uint64(step) * leakPerStep
	}
	return 0
}

// line is what the rank logs of a step, and its level as of Python's logging.
func (r *rank) line(step uint32) (level int, text string) {
	if r.bad && r.number == nanRank && step == nanSince {
		return 40, "loss is nan"
	}
	return 20, fmt.Sprintf("step %d", step)
}

// crash leaves the step in the midst of a layer.
func (r *rank) crash(step uint32) {
	const message = "CUDA out of memory. Tried to allocate 1.00 GiB."
	r.forward(step, crashedLayer)
	op := linear(crashedLayer)
	seq := r.Call(op, root, schemas.SpoolOpOpens, 0)
	r.Put(schemas.SpoolFailureKind, &schemas.SpoolFailure{
		Op: r.Op(op), Seq: seq, Type: r.Text("torch.OutOfMemoryError"), Message: r.Text(message), Inputs: r.Text("float32[2,2]"), TimeNs: r.Clock,
		Stack: r.Define("stack", map[string]any{"frames": []string{"File train.py, line 31, in step, return model(batch)"}}), Module: r.Text(fmt.Sprintf("layers.%d", crashedLayer)),
	})
	r.record(map[string]any{"t": r.Clock, "s": step, "l": 50, "n": "train", "m": "step failed", "x": "torch.OutOfMemoryError: " + message, "o": op})
	r.within(op, seq, step)
	r.Die()
	r.dead = true
}

// hang waits in a collective that never ends.
func (r *rank) hang(step uint32) {
	seq := r.Call(reduce, "", schemas.SpoolOpOpens, 0)
	r.collective(step, schemas.SpoolCalled, r.Clock, r.Clock)
	r.within(reduce, seq, step)
}

// within says that the rank is in that op.
func (r *rank) within(op string, seq, step uint32) {
	r.Head.CurrentOp, r.Head.CurrentSeq, r.Head.CurrentTimeNs, r.Head.Step = r.Op(op), seq, r.Clock, step
	r.Head.HeartbeatNs = time.Now().UnixNano()
	r.WriteHead()
}

// sendDamaged publishes a message that no store can read, as a broken line would.
func sendDamaged(ctx context.Context, getenv func(string) string) (err error) {
	options, err := system.Login{Creds: getenv("TENSORTAP_CREDS")}.NATS()
	if err != nil {
		return err
	}
	conn, err := nats.Connect(getenv("TENSORTAP_NATS"), options...)
	if err != nil {
		return fmt.Errorf("connect to the stream: %w", err)
	}
	defer conn.Close()
	js, err := jetstream.New(conn)
	if err != nil {
		return err
	}
	subject := fmt.Sprintf("tap.%s.%s.%d", schemas.Tensor().Kind(), schemas.FormatID(schemas.RunID(badRun)), slowRank)
	if _, err := js.Publish(ctx, subject, []byte("no batch of events")); err != nil {
		return fmt.Errorf("publish a damaged message to %s: %w", subject, err)
	}
	return nil
}
