package system

import (
	"context"

	"golang.org/x/sync/errgroup"

	"github.com/tensortap/tensortap/analysis/report"
	"github.com/tensortap/tensortap/internal/steps"
)

// wholeQuestion is a question about whole steps that is on its way. It takes as long as several looks at what lands
// meanwhile, which do not wait for it.
type wholeQuestion struct {
	steps      steps.Range
	signatures map[int64]string // of the steps when it was asked
	asking     errgroup.Group
	giveUp     context.CancelFunc
	answered   chan struct{}
	judged     report.Table
}

// judgeWhole judges the steps that both runs have whole, and says a line of each.
func (w *watch) judgeWhole(ctx context.Context) error {
	if w.asking == nil {
		w.askWhole(ctx)
		return nil
	}
	select {
	case <-w.asking.answered:
	default:
		return nil
	}
	q := w.asking
	w.asking = nil
	q.giveUp()
	if err := q.asking.Wait(); err != nil {
		return err
	}
	for step := q.steps.First; step <= q.steps.Last; step++ {
		if err := w.sayStep(ctx, step, q); err != nil {
			return err
		}
	}
	w.askWhole(ctx)
	return nil
}

// askWhole asks about the first steps that can be said.
func (w *watch) askWhole(ctx context.Context) {
	w.busy()
	all := spans(w.whole(), stepsAtOnce)
	if len(all) == 0 {
		return
	}
	q := &wholeQuestion{steps: all[0], signatures: map[int64]string{}, answered: make(chan struct{})}
	for step := q.steps.First; step <= q.steps.Last; step++ {
		q.signatures[step] = w.steps[step].signature()
	}
	client, at, parameters := w.client, w.sight, w.parameters(q.steps.First, q.steps.Last)
	ctx, q.giveUp = context.WithCancel(ctx)
	q.asking.Go(func() (err error) {
		defer close(q.answered)
		q.judged, err = w.wholeSteps.ask(ctx, client, at, parameters) // of which one at a time is on its way
		return err
	})
	w.asking = q
}

// forget gives up what is on its way.
func (w *watch) forget() {
	if w.asking == nil {
		return
	}
	w.asking.giveUp()
	_ = w.asking.asking.Wait() // nobody waits for the answer
	w.asking = nil
}
