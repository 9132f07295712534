package simulation

import (
	"context"
	"errors"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tensortap/tensortap/e2e/internal/simulated"
	"github.com/tensortap/tensortap/internal/dev/testbed"
	"github.com/tensortap/tensortap/pipelines"
	"github.com/tensortap/tensortap/producers/agent"
	"github.com/tensortap/tensortap/schemas"
)

const tappedEpoch = 0x7a9

// tapped is a process with a collector.
type tapped struct {
	dice    *simulated.Dice
	spool   *testbed.Spool
	steps   uint32 // whole ones
	tensors int
	died    bool // in the midst of a step
	ended   atomic.Bool
}

// tap starts a process with a collector, and the agents that serve it one after another.
func (w *world) tap(t *testing.T) {
	t.Helper()
	dice := w.fate.Of("tapped")
	started := time.Now().Add(-dice.Upto(200 * time.Microsecond)) // a record takes a microsecond, and a day begins here
	p := &tapped{dice: dice, spool: testbed.NewSpool(t, w.spools, testbed.SpoolOptions{Run: "tapped", Rank: rank, Epoch: tappedEpoch, SegmentRows: 64, Started: started})}
	w.tapped = p
	w.busy++
	w.work.Go(p.run)
	w.work.Go(func() {
		w.process("agent", dice.Below(3), w.agent)
		w.mutex.Lock()
		defer w.mutex.Unlock()
		w.busy--
	})
}

// run writes steps, now and then, and ends by itself or in the midst of one.
func (p *tapped) run() {
	for range 1 + p.dice.Below(12) {
		time.Sleep(p.dice.Upto(10 * time.Second))
		modules := p.dice.Below(4)
		p.spool.Step(p.steps, modules)
		p.tensors += 2 * modules
		p.steps++
	}
	if p.dice.Below(3) == 0 {
		p.died = true
		p.spool.Begin(p.steps)
		p.spool.Tensor("Module.layers.0.Linear.forward.0", "input", "0", p.spool.Call("Module.layers.0.Linear.forward.0", "", 0, 0), 1)
		p.tensors++
		p.spool.Die()
	} else {
		p.spool.Close()
	}
	p.ended.Store(true)
}

// agent serves the process until it is over and all is published.
func (w *world) agent(ctx context.Context, l *life) {
	hand := w.fate.Hand(l.name, l.crash)
	stop := context.AfterFunc(ctx, hand.Kill)
	defer stop()
	conn, js := w.connect(ctx, l.door)
	if conn == nil {
		return
	}
	defer conn.Close()
	now := w.clock(l.name)
	cfg := agent.DefaultConfig(w.spools, now)
	cfg.Disk, cfg.PollEvery, cfg.CheckpointRows, cfg.BatchRows = hand.Disk(), 200*time.Millisecond, 40, 8
	cfg.Stream = agent.Stream{
		NewPublisher: func() (agent.Publisher, error) {
			return pipelines.NewPublisher(w.config(l).Publish, js, now, nil)
		},
		Admit:  func(_ context.Context, s agent.Start) (agent.Place, error) { return agent.Place{Rank: s.Rank}, nil },
		Finish: func(context.Context, agent.Start, bool, uint32) error { return nil },
	}
	serving, done := context.WithCancel(ctx)
	w.work.Go(func() {
		defer done()
		for serving.Err() == nil && !w.published() {
			time.Sleep(time.Second)
		}
	})
	if err := agent.New(cfg).Run(serving); err != nil && !errors.Is(err, context.Canceled) {
		w.fail("%s: %v", l.name, err)
	}
	done()
}

// published says whether the process is over and its folder gone.
func (w *world) published() bool {
	left, err := os.ReadDir(w.spools)
	return w.tapped.ended.Load() && err == nil && len(left) == 0
}

// checkTapped holds what the stream has of the process against what it wrote.
func (w *world) checkTapped() {
	if w.tapped == nil {
		return
	}
	next, seen := map[string]uint64{}, map[string]bool{} // the stream has a message twice that came again when it had forgotten the id
	tensors, steps := map[uint64]int{}, map[uint32]int{}
	for _, m := range w.server.Messages("TAP") {
		message, err := schemas.ParseMessage(m.Subject, m.Header, m.Data, m.Sequence)
		if err != nil || message.Header.Identity.Epoch != tappedEpoch || seen[message.ID()] {
			continue
		}
		kind := message.Header.Kind
		next[kind], seen[message.ID()] = max(next[kind], message.Header.Identity.Batch+1), true
		w.countTapped(message, tensors, steps)
	}
	for kind, batches := range next {
		for batch := range batches {
			id := schemas.Message{Header: schemas.Header{Kind: kind, Identity: schemas.Identity{RunID: schemas.RunID("tapped"), Rank: rank, Epoch: tappedEpoch, Batch: batch}}}.ID()
			if !seen[id] {
				w.fail("batch %d of %s, of %d, is missing", batch, kind, batches)
			}
		}
	}
	w.checkCounts(tensors, steps)
}

// countTapped counts how often each record is there.
func (w *world) countTapped(m schemas.Message, tensors map[uint64]int, steps map[uint32]int) {
	switch m.Header.Kind {
	case schemas.Tensor().Kind():
		rows, err := schemas.AppendRows[schemas.TensorRow](nil, m)
		if err != nil {
			w.fail("%s: %v", m.ID(), err)
		}
		for _, row := range rows {
			tensors[row.Seq]++
		}
	case schemas.Step().Kind():
		rows, err := schemas.AppendRows[schemas.StepRow](nil, m)
		if err != nil {
			w.fail("%s: %v", m.ID(), err)
		}
		for _, row := range rows {
			steps[row.Step]++
			if whole := row.Step < w.tapped.steps; whole != (row.Complete == 1) || row.DroppedCount > 0 {
				w.fail("step %d of %d is told as %+v", row.Step, w.tapped.steps, row)
			}
		}
	}
}

func (w *world) checkCounts(tensors map[uint64]int, steps map[uint32]int) {
	for record, n := range tensors {
		if n != 1 {
			w.fail("record %d came %d times", record, n)
		}
	}
	for step, n := range steps {
		if n != 1 {
			w.fail("step %d came %d times", step, n)
		}
	}
	whole := int(w.tapped.steps)
	if w.tapped.died {
		whole++
	}
	if len(tensors) != w.tapped.tensors || len(steps) != whole {
		w.fail("%d tensors in %d steps, want %d in %d", len(tensors), len(steps), w.tapped.tensors, whole)
	}
}
