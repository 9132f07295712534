package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/tensortap/tensortap/analysis/report"
	"github.com/tensortap/tensortap/internal/plural"
	"github.com/tensortap/tensortap/internal/speedscope"
	"github.com/tensortap/tensortap/internal/system"
	"github.com/tensortap/tensortap/producers/agent"
)

func (a *app) askTrace(ctx context.Context, t *tracing, most time.Duration) (system.Asked, error) {
	client, err := a.connectStream()
	if err != nil {
		return system.Asked{}, err
	}
	defer client.Close()
	return client.Trace(ctx, t.run, t.request, t.patience, most)
}

// spied has py-spy sample the ranks, if it is there, they are on this machine, and it is let. Otherwise it says why not,
// which is an error where py-spy was asked for.
func (a *app) spied(ctx context.Context, t *tracing, all *speedscope.File) (done bool, err error) {
	if t.sampler == samplerOwn {
		return false, nil
	}
	spy, err := speedscope.FindSpy()
	spy.Rate, spy.Native = t.rate, t.native
	var answers []agent.Answer
	if err == nil {
		answers, err = a.here(ctx, t)
		if errors.Is(err, errNotAsked) {
			return false, err
		}
	}
	if err == nil {
		err = record(ctx, spy, t, answers, all)
	}
	switch {
	case err == nil:
		return true, nil
	case t.sampler == samplerSpy || ctx.Err() != nil:
		return false, fmt.Errorf("%w; without --sampler %s each rank samples itself", err, samplerSpy)
	}
	fmt.Fprintf(a.stderr, "%v; so each rank samples itself: Python alone\n", printable(err))
	return false, nil
}

// errNotAsked says that nobody could be asked, by py-spy or otherwise.
var errNotAsked = errors.New("trace")

// here is the ranks that are asked, all of which must be on this machine.
func (a *app) here(ctx context.Context, t *tracing) ([]agent.Answer, error) {
	k := t.asking
	k.request.Do, k.patience = agent.DoPoke, min(t.patience, pokePatience)
	asked, err := a.askRun(ctx, &k)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errNotAsked, err)
	}
	host, err := os.Hostname()
	if err != nil {
		return nil, err
	}
	if len(asked.Silent) > 0 {
		return nil, fmt.Errorf("rank %d is on a machine of which no agent answered", asked.Silent[0])
	}
	for i := range asked.Answers {
		if answer := &asked.Answers[i]; answer.Host != host {
			return nil, fmt.Errorf("rank %d is on %s, where this py-spy is not", answer.Rank, report.Printable(answer.Host))
		}
	}
	return asked.Answers, nil
}

// record has py-spy sample all at once.
func record(ctx context.Context, spy speedscope.Spy, t *tracing, answers []agent.Answer, all *speedscope.File) error {
	files := make([]*speedscope.File, len(answers))
	group, ctx := errgroup.WithContext(ctx)
	for i := range answers {
		group.Go(func() (err error) {
			files[i], err = spy.Record(ctx, int(answers[i].PID), t.span()) //nolint:gosec // a pid
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	for i, file := range files {
		all.Add(file, fmt.Sprintf("rank %d: ", answers[i].Rank))
	}
	return nil
}

// profile has ranks run torch.profiler, and says where the files are.
func (a *app) profile(ctx context.Context, t *tracing) error {
	t.request = agent.Request{Do: agent.DoProfile, Ranks: t.request.Ranks, Steps: t.steps}
	asked, err := a.askTrace(ctx, t, profilePatience)
	if err != nil {
		return err
	}
	if t.output != "" && len(asked.Answers) > 1 {
		return fmt.Errorf("--output %s: %d ranks have a file each; choose one by --rank, or take the files as they lie", t.output, len(asked.Answers))
	}
	missing := len(asked.Silent)
	for i := range asked.Answers {
		answer := &asked.Answers[i]
		if answer.State != agent.StateTraced {
			missing++
			fmt.Fprintf(a.stderr, "%s %s\n", who(answer), t.untraced(answer, nil))
			continue
		}
		fmt.Fprintf(a.stdout, "%s %s from step %d on: %s\n", who(answer), plural.Of(t.steps, "step"), answer.FromStep, report.Printable(answer.File))
		if err := t.copied(answer); err != nil {
			return err
		}
	}
	for _, rank := range asked.Silent {
		fmt.Fprintln(a.stderr, t.silent(rank))
	}
	if missing > 0 {
		return fmt.Errorf("%s of run %s %s not profiled: see above", plural.Of(missing, "rank"), t.run, plural.Verb(missing, "was", "were"))
	}
	return nil
}

// copied writes the content to where it is asked for.
func (t *tracing) copied(answer *agent.Answer) error {
	if t.output == "" {
		return nil
	}
	if answer.Content == nil {
		return fmt.Errorf("--output %s: %s", t.output, t.untraced(answer, errNoFile))
	}
	if err := os.WriteFile(t.output, answer.Content, 0o600); err != nil {
		return fmt.Errorf("write the profile: %w", err)
	}
	return nil
}
