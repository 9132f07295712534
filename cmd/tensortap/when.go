package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/tensortap/tensortap/analysis/report"
	"github.com/tensortap/tensortap/internal/conditions"
	"github.com/tensortap/tensortap/internal/system"
	"github.com/tensortap/tensortap/producers/agent"
)

const whenVariable = "TENSORTAP_WHEN"

// whenWords has the conditions that a run begins with.
type whenWords struct {
	texts      []string
	difference bool   // detail is recorded once the run differs from its bench
	detail     string // what steps of that detail are to fulfil, too
}

func (w *whenWords) flags(cmd *cobra.Command) {
	cmd.Flags().StringArrayVar(&w.texts, "when", nil, "record only steps that fulfil these `CONDITIONS`, as 'request=cmpl-7*, phase=decode' or 'loss>10'; may be given again")
}

func parseWhen(texts []string) (conditions.When, error) {
	when, err := conditions.ParseAll(texts)
	if err != nil {
		return when, fmt.Errorf("--when %s: %w", strconv.Quote(strings.Join(texts, ", ")), err)
	}
	return when, nil
}

// read refuses before the program starts what its processes would refuse, and returns the setting for them. A bench is a
// run that differences are found from. Without the flag processes read the variable themselves.
func (w *whenWords) read(bench *standing, variable string) (setting *string, err error) {
	setting = new(string)
	if len(w.texts) == 0 && variable != "" {
		return setting, checkVariable(variable)
	}
	when, err := parseWhen(w.texts)
	if err != nil {
		return setting, err
	}
	rest, difference, err := when.WithoutDifference()
	switch {
	case err != nil:
		return setting, fmt.Errorf("--when: %w", err)
	case !difference:
		*setting = when.String()
	case !bench.asked():
		return setting, errors.New("--when difference: a difference from which run? Name it with --bench")
	default:
		w.difference, w.detail = true, rest.String()
	}
	return setting, nil
}

func checkVariable(text string) error {
	when, err := conditions.Parse(text)
	if err == nil && when.Has(conditions.Difference) {
		err = errors.New("give difference by --when, with --bench")
	}
	if err != nil {
		return fmt.Errorf("%s %s: %w", whenVariable, strconv.Quote(text), err)
	}
	return nil
}

// capturedWhen are the conditions of a capture, as processes read them.
func capturedWhen(texts []string) (string, error) {
	when, err := parseWhen(texts)
	if err == nil && when.Has(conditions.Difference) {
		err = errors.New("--when difference: of a live run, tensortap watch --capture waits for that")
	}
	return when.String(), err
}

// awaitingDifference is job, during which the run's first difference from its bench has detail recorded, where that was asked for.
func (a *app) awaitingDifference(ctx context.Context, client *system.Client, l *launching, job func() error) func() error {
	if !l.when.difference {
		return job
	}
	return func() error {
		watching, stop := context.WithCancel(ctx)
		var group errgroup.Group
		group.Go(func() error {
			a.awaitDifference(watching, client, l)
			return nil
		})
		err := job()
		stop()
		_ = group.Wait() // it gives no error
		return err
	}
}

// awaitDifference watches until the run differs, and has detail recorded then. What fails is told, and changes nothing else.
func (a *app) awaitDifference(ctx context.Context, client *system.Client, l *launching) {
	request := system.DefaultWatchRequest()
	request.Compare, request.UntilDiverged, request.Now = l.against.request, true, time.Now
	request.Connect = func(ctx context.Context) (*system.Client, error) {
		return system.Connect(ctx, client.Endpoint, time.Now)
	}
	found := false
	request.Say = func(e *report.WatchEvent) error {
		if e.Event == "divergence" && !found {
			found = true
			a.captureDifference(ctx, client, l, e)
		}
		return nil
	}
	if _, err := system.Watch(ctx, request); err != nil && ctx.Err() == nil {
		a.tellLaunch("difference: the run is not watched: " + printable(err))
	} else if !found {
		a.tellLaunch("difference: none from run " + report.Printable(l.against.request.Bench()) + " was found while the program ran; no step was recorded in detail")
	}
}

func (a *app) captureDifference(ctx context.Context, client *system.Client, l *launching, e *report.WatchEvent) {
	a.tellLaunch(fmt.Sprintf("difference: step %d, rank %d, op %s%s differs from run %s", *e.Step, *e.Rank, report.Printable(e.Op), within(e.Module), report.Printable(l.against.request.Bench())))
	k := asking{run: l.run, patience: capturePatience, request: agent.Request{
		Do: agent.DoCapture, Level: "mix", Steps: 2, MostBytes: payloadBytes, Ranks: []int64{*e.Rank}, When: l.when.detail,
	}}
	if e.Module != "" {
		k.request.Scope = []string{literalPattern(e.Module)}
	}
	asked, err := client.Ask(ctx, k.run, k.request, k.patience)
	if ctx.Err() != nil {
		a.tellLaunch("difference: the program ended before a step could be recorded in detail")
		return
	}
	if err != nil {
		a.tellLaunch("difference: no detail is recorded: " + printable(err))
		return
	}
	for i := range asked.Answers {
		a.tellLaunch("difference: " + who(&asked.Answers[i]) + " " + k.became(&asked.Answers[i]))
	}
	for _, rank := range asked.Silent {
		a.tellLaunch("difference: " + k.silent(rank))
	}
}

func within(module string) string {
	if module == "" {
		return ""
	}
	return " of module " + report.Printable(module)
}
