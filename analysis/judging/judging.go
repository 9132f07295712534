// Package judging keeps declared comparisons judged: it finds which steps lack
// a verdict, judges those, and publishes what came of them, each under an id of
// its own, so that whoever judges the same again stores nothing.
package judging

import (
	"context"
	"fmt"
	"sync"
	"time"

	"go.opentelemetry.io/otel/trace"
	"golang.org/x/sync/errgroup"

	"github.com/tensortap/tensortap/analysis/ask"
	"github.com/tensortap/tensortap/analysis/compare"
	"github.com/tensortap/tensortap/analysis/judge"
	"github.com/tensortap/tensortap/analysis/pair"
	"github.com/tensortap/tensortap/analysis/result"
	"github.com/tensortap/tensortap/analysis/rows"
	"github.com/tensortap/tensortap/analysis/verdicts"
	"github.com/tensortap/tensortap/schemas"
)

// Keeper keeps comparisons judged. Its methods may be called at the same time.
type Keeper struct {
	Door *ask.Door
	// Open prepares a comparison of stored runs.
	Open func(ctx context.Context, r compare.Request) (*compare.Job, error)
	// Publish sends messages to the stream in their order, as one where it can; calls overlap.
	Publish func(ctx context.Context, messages ...schemas.Message) error
	// Now is the clock of who asks.
	Now func() time.Time
	// Stored returns when the database holds all that was published.
	Stored func(ctx context.Context) error
	// Metrics counts the work; nil where nobody asks.
	Metrics *Metrics
	// Tracer tells of steps whose batches are followed; nil for none.
	Tracer trace.Tracer
}

// Judged makes sure that every step of a comparison is judged as the database has it, and says which comparison it is.
// Where nothing is missing, no tensor is read.
func (k *Keeper) Judged(ctx context.Context, c Comparison) (uint64, error) {
	id := c.ID()
	var declared, done bool
	group, askCtx := errgroup.WithContext(ctx)
	group.Go(func() (err error) { declared, err = k.declare(askCtx, c); return err })
	group.Go(func() (err error) { done, err = k.upToDate(askCtx, c); return err })
	if err := group.Wait(); err != nil {
		return id, err
	}
	if !done {
		job, w, err := k.open(ctx, c)
		if err != nil {
			return id, err
		}
		return id, k.bring(ctx, c, job, w, everything)
	}
	if declared {
		return id, k.Stored(ctx)
	}
	return id, nil
}

// everything judges all that is there, be it whole or not.
func everything(*compare.Job, pair.Step) bool { return true }

// open reads all that is known of both runs, and of their verdicts; no tensor.
func (k *Keeper) open(ctx context.Context, c Comparison) (*compare.Job, *writer, error) {
	job, err := k.Open(ctx, c.Request)
	if err != nil {
		return nil, nil, err
	}
	w, err := k.writer(ctx, c, job)
	return job, w, err
}

// bring judges the steps that lack a verdict and are ready for it, and says where the difference began.
func (k *Keeper) bring(ctx context.Context, c Comparison, job *compare.Job, w *writer, ready func(*compare.Job, pair.Step) bool) (err error) {
	began := k.Now()
	lacking, waiting := w.lacking(job, ready)
	ctx, end := k.follow(ctx, c, w, lacking)
	defer func() { end(err) }()
	collected := job.Collector()
	err = job.Judge(ctx, lacking, func(at pair.Step, judged []judge.Judged) error {
		return w.unit(ctx, at, collected.Count(at, judged))
	})
	if err == nil {
		err = w.flush(ctx)
	}
	if err != nil {
		return fmt.Errorf("judge %s against %s: %w", c.Request.Problem, c.Request.Benches[0], err)
	}
	k.Metrics.brought(c.ID(), k.Now().Sub(began), waiting)
	return k.finish(ctx, c, job)
}

// lacking are the steps without a verdict that are ready for it, and how many others lack one.
func (w *writer) lacking(job *compare.Job, ready func(*compare.Job, pair.Step) bool) (lacking []pair.Step, waiting int) {
	for _, at := range job.Steps() {
		switch {
		case w.known(at):
		case ready(job, at):
			lacking = append(lacking, at)
		default:
			waiting++
		}
	}
	return lacking, waiting
}

// Answer gives the whole answer to what the job is asked for. It judges what was not judged before, and stores it.
func (k *Keeper) Answer(ctx context.Context, c Comparison, job *compare.Job) (*compare.Answer, error) {
	if err := k.Declare(ctx, c); err != nil {
		return nil, err
	}
	w, err := k.writer(ctx, c, job)
	if err != nil {
		return nil, err
	}
	recalled, err := k.recalled(ctx, c, job, w)
	if err != nil {
		return nil, err
	}
	answer, err := job.Run(ctx, recalled, func(at pair.Step, placed *result.Placed) error { return w.unit(ctx, at, placed) })
	if err == nil {
		err = w.flush(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("judge %s against %s: %w", c.Request.Problem, c.Request.Benches[0], err)
	}
	if c.Request.Rank >= 0 || !c.Request.Steps.All() {
		return answer, k.Stored(ctx) // where the runs begin to differ is not known of a part
	}
	return answer, k.finish(ctx, c, job)
}

// finish waits for what was published, and brings the origins up to it. Verdicts name the layouts that were made of the
// parts of several ranks.
func (k *Keeper) finish(ctx context.Context, c Comparison, job *compare.Job) error {
	for _, layout := range job.Definitions().Made() {
		message, err := verdicts.Layout(schemas.RunID(c.Request.Problem), layout)
		if err != nil {
			return err
		}
		if err := k.Publish(ctx, message); err != nil {
			return err
		}
	}
	if err := k.Stored(ctx); err != nil {
		return err
	}
	return k.originate(ctx, c, job)
}

// writer publishes what came of the steps of a comparison.
type writer struct {
	id             uint64
	problem, bench *rows.Run
	facts          uint64
	publish        func(context.Context, ...schemas.Message) error
	metrics        *Metrics
	all            bool // units that are not whole are published, too

	mutex        sync.Mutex
	units        map[uint64]bool   // that are stored
	pending      []schemas.Message // of whole units, to be published together
	pendingBytes int
}

// What is published together: far fewer than the units of a run, so that others see them while the next ones are judged.
const (
	togetherMessages = 400
	togetherBytes    = 2 << 20
)

func (k *Keeper) writer(ctx context.Context, c Comparison, job *compare.Job) (*writer, error) {
	units, err := k.units(ctx, c.ID())
	if err != nil {
		return nil, err
	}
	w := &writer{id: c.ID(), units: units, publish: k.Publish, metrics: k.Metrics, all: true}
	w.problem, w.bench = job.Runs()
	w.facts = job.Facts()
	return w, nil
}

// known says whether the step was judged as it is now, and was whole.
func (w *writer) known(at pair.Step) bool {
	unit := w.unitOf(at)
	return !unit.Provisional && w.has(unit.Epoch())
}

func (w *writer) unitOf(at pair.Step) *verdicts.Unit {
	unit := verdicts.UnitOf(w.id, w.problem, w.bench, at)
	unit.Facts = w.facts
	return &unit
}

func (w *writer) has(unit uint64) bool {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	return w.units[unit]
}

// unit publishes a step, unless it was published before. Its calls may overlap.
func (w *writer) unit(ctx context.Context, at pair.Step, placed *result.Placed) error {
	unit := w.unitOf(at)
	unit.Seen(at)
	if w.has(unit.Epoch()) || unit.Provisional && !w.all {
		return nil
	}
	messages, err := verdicts.Messages(*unit, placed)
	if err != nil {
		return err
	}
	w.metrics.unit(unit.Provisional)
	if together := w.gather(messages); len(together) > 0 {
		return w.publish(ctx, together...)
	}
	return nil
}

// gather keeps the messages of a unit until there are enough, which it then gives to the caller to publish.
func (w *writer) gather(unit []schemas.Message) []schemas.Message {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.pending = append(w.pending, unit...)
	for i := range unit {
		w.pendingBytes += len(unit[i].Data)
	}
	if len(w.pending) < togetherMessages && w.pendingBytes < togetherBytes {
		return nil
	}
	return w.take()
}

func (w *writer) take() []schemas.Message {
	together := w.pending
	w.pending, w.pendingBytes = nil, 0
	return together
}

// flush publishes what was gathered. No unit may be judged at the same time.
func (w *writer) flush(ctx context.Context) error { return w.publish(ctx, w.take()...) }
