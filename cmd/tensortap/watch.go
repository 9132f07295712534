package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/tensortap/tensortap/analysis/report"
	"github.com/tensortap/tensortap/internal/system"
)

func newWatch(a *app) *cobra.Command {
	request := system.DefaultWatchRequest()
	var output string
	var words comparisonWords
	var mapping string
	var capture bool
	cmd := &cobra.Command{
		Use:   "watch " + twoRuns,
		Short: "Follow two runs live, and show the first divergence as it lands",
		Long: `Follow two runs. Either may still be running, or not exist yet. Each step that both have
is judged and gets a line, which also names missing rows. A divergence is shown within a
second after it was stored, also in the middle of a step. Two implementations of a model
pair by the map that ships for them, or by that of --map, once a step is whole.

It ends when both runs have ended and nothing came for the time of --idle. A run that
was read from files has ended when all of its steps are whole. So if you publish dumps
one by one as a training goes on, give a time longer than a step.

Exit status: 0 nothing differs, 1 something differs, 2 an error, too little data to
decide, or stopped before anything differed.`,
		Example: `  tensortap watch bad good --until-diverged
  tensortap watch --problem bad --bench good --steps 100- --idle 10m
  tensortap watch --problem bad --bench good --output json | jq -c 'select(.event == "divergence")'`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := errors.Join(words.apply(&request.Compare), mapped(&request.Compare, mapping)); err != nil {
				return err
			}
			return a.watch(cmd.Context(), request, output, capture)
		},
	}
	f := cmd.Flags()
	addRuns(cmd, &request.Compare, "name of the run", a.completeRuns)
	words.flags(f)
	addMap(cmd, &mapping)
	addRank(f, &request.Compare.Rank, -1, "only this rank of the problem; -1 for all")
	f.BoolVar(&request.UntilDiverged, "until-diverged", false, "end at the first divergence")
	f.DurationVar(&request.Idle, "idle", request.Idle, "time without rows after which runs count as ended, and an incomplete step is judged as it is")
	f.BoolVar(&capture, "capture", false, "at the first divergence, record the module in detail on that rank of both runs, for two steps, with raw tensors")
	addTextOrJSON(cmd, &output)
	return cmd
}

func (a *app) watch(ctx context.Context, request system.WatchRequest, output string, capture bool) error {
	format, err := textOrJSON(output)
	if err != nil {
		return err
	}
	if err := request.Validate(); err != nil {
		return err
	}
	if _, err := a.endpoint(); err != nil {
		return err // a system that never ran is not waited for
	}
	progress := a.newActivity()
	defer progress.clear()
	captor := captor{app: a, runs: [2]string{request.Compare.Problem, request.Compare.Bench()}, done: !capture}
	request.Now, request.Busy = time.Now, progress.say
	request.Connect = a.reconnect
	diverged := false
	request.Say = func(e *report.WatchEvent) error {
		progress.clear()
		diverged = diverged || e.Event == "divergence"
		captor.saw(ctx, e)
		return e.Write(a.stdout, format)
	}
	verdict, err := system.Watch(ctx, request)
	captor.wait()
	switch {
	case closedOutput(err) && diverged:
		return errDiffers
	case closedOutput(err):
		return errors.New("the reader of the output went away before the watch had ended; nothing differed so far")
	case err != nil:
		return err
	case verdict == report.Differs:
		return errDiffers
	case verdict == report.Unknown:
		return errors.New("cannot say whether the runs differ: the missing parts are named above")
	}
	return nil
}

// reconnect finds the system anew: after a restart it may listen elsewhere.
func (a *app) reconnect(ctx context.Context) (*system.Client, error) {
	endpoint, err := a.endpoint()
	if err != nil {
		return nil, err
	}
	return system.Connect(ctx, endpoint, time.Now)
}

// activity is a line about the present work on a terminal, and nothing elsewhere.
type activity struct {
	a     *app
	shown bool
}

func (a *app) newActivity() *activity { return &activity{a: a} }

func (l *activity) say(what string) {
	if !l.a.terminal(l.a.stderr) || !l.a.terminal(l.a.stdout) {
		return
	}
	fmt.Fprintf(l.a.stderr, "\r\x1b[K%s", report.Printable(what))
	l.shown = true
}

func (l *activity) clear() {
	if l.shown {
		fmt.Fprint(l.a.stderr, "\r\x1b[K")
		l.shown = false
	}
}
