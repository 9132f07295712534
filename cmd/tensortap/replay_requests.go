package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tensortap/tensortap/analysis/report"
	"github.com/tensortap/tensortap/analysis/resend"
	"github.com/tensortap/tensortap/internal/system"
	"github.com/tensortap/tensortap/producers/requests"
)

// Values of --pace.
const (
	paceOne      = "one"
	paceRecorded = "recorded"
)

// resending has the flags of replay-requests.
type resending struct {
	from, file           string
	to, also             string
	pace, output, secret string
	limit                uint64
	noLogprobs           bool
	cfg                  resend.Config
}

func newReplayRequests(a *app) *cobra.Command {
	r := resending{cfg: resend.DefaultConfig()}
	cmd := &cobra.Command{
		Use:   "replay-requests --from RUN|--from-file PATH --to URL [--also URL]",
		Short: "Send recorded requests again, to one server or to two",
		Long: `Send recorded requests again, with temperature 0 and a fixed seed, and say where answers first
differ: request, token, log probability and, where the servers run below tensortap run, the
step that made the token. Answers of two servers are compared with each other; those of one
with the recorded answers, of requests that were recorded with temperature 0.

Requests are those that tensortap run --keep-prompts recorded, whether that goes on or not, or
those of a file: a request dump or crash dump of SGLang, or a request log with texts.

Exit status: 0 all answers are the same, 1 one differs, 2 an error, or of some nothing can be
said: a server was down or refused it, or there is nothing to compare with.`,
		Example: `  tensortap replay-requests --from bad --to http://localhost:30000 --also http://localhost:30001
  tensortap replay-requests --from bad --to http://localhost:30000 --pace recorded
  tensortap replay-requests --from-file crash_dump.pkl --to http://localhost:30000`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := r.check(); err != nil {
				return err
			}
			return a.replayRequests(cmd.Context(), &r)
		},
	}
	f := cmd.Flags()
	f.StringVar(&r.from, "from", "", "run whose requests are sent")
	f.StringVar(&r.file, "from-file", "", "`PATH` of a file or folder whose requests are sent")
	f.StringVar(&r.to, "to", "", "address of a server, as http://localhost:30000 (required)")
	f.StringVar(&r.also, "also", "", "address of a second server, whose answers are compared with those of the first")
	f.StringVar(&r.pace, "pace", paceOne, "one (after the other), or recorded (as they came)")
	f.Int64Var(&r.cfg.Seed, "seed", 0, "seed of all requests")
	f.DurationVar(&r.cfg.Timeout, "timeout", r.cfg.Timeout, "longest time of an answer")
	f.BoolVar(&r.noLogprobs, "no-logprobs", false, "do not ask for log probabilities, which some servers refuse; differences are then named by character")
	f.StringVar(&r.cfg.Model, "model", "", "model to ask for in place of the recorded one")
	f.StringVar(&r.secret, "api-key-file", "", "`FILE` with the key that the servers ask for")
	f.Uint64Var(&r.limit, "limit", 20, "greatest number of differences in text; 0 for all")
	addOutput(cmd, &r.output)
	_ = cmd.MarkFlagRequired("to")
	cmd.MarkFlagsOneRequired("from", "from-file")
	cmd.MarkFlagsMutuallyExclusive("from", "from-file")
	a.completeRunFlags(cmd, "from")
	_ = cmd.RegisterFlagCompletionFunc("pace", cobra.FixedCompletions([]string{paceOne, paceRecorded}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func (r *resending) check() error {
	if _, err := report.ParseFormat(r.output); err != nil {
		return err
	}
	if r.pace != paceOne && r.pace != paceRecorded {
		return fmt.Errorf("--pace %q: want %s or %s", r.pace, paceOne, paceRecorded)
	}
	r.cfg.Recorded, r.cfg.Logprobs, r.cfg.Servers = r.pace == paceRecorded, !r.noLogprobs, []string{r.to}
	if r.also != "" {
		r.cfg.Servers = append(r.cfg.Servers, r.also)
	}
	if r.secret != "" {
		key, err := os.ReadFile(r.secret)
		if err != nil {
			return fmt.Errorf("--api-key-file: %w", err)
		}
		r.cfg.Token = strings.TrimSpace(string(key))
	}
	return r.cfg.Validate()
}

func (a *app) replayRequests(ctx context.Context, r *resending) error {
	all, err := a.recordedRequests(ctx, r)
	if err != nil {
		return err
	}
	outcome := &resend.Outcome{Config: r.cfg}
	ready := resend.Ready(all)
	outcome.Skipped = len(all) - len(ready)
	if len(ready) == 0 {
		return nothingToSend(r, all)
	}
	progress := a.progressIn("replay requests", false)
	outcome.Exchanges, err = resend.Run(ctx, r.cfg, ready, progress.set)
	progress.finish()
	outcome.Rows = resend.Rows(&r.cfg, outcome.Exchanges)
	if err == nil {
		a.locate(ctx, outcome)
	}
	return errors.Join(err, a.tellReplayed(r, outcome))
}

// recordedRequests are those of a file, or those of a run: in the tables, and not yet there.
func (a *app) recordedRequests(ctx context.Context, r *resending) ([]requests.Recorded, error) {
	if r.file != "" {
		all, problems, err := requests.Read(r.file)
		a.warn(problems.First, problems.Count)
		return all, err
	}
	here, err := a.unstoredRequests(r.from)
	if err != nil {
		return nil, err
	}
	var stored []requests.Recorded
	err = a.ask(ctx, func(ctx context.Context, client *system.Client) (err error) {
		if len(here) == 0 {
			if err := client.CheckRun(ctx, r.from); err != nil {
				return fmt.Errorf("--from: %w", err)
			}
		}
		stored, err = client.RecordedRequests(ctx, r.from)
		return err
	})
	if errors.Is(err, system.ErrNotRunning) && len(here) > 0 {
		err = nil
	}
	return requests.Merge(stored, here), err
}

func nothingToSend(r *resending, all []requests.Recorded) error {
	from := "run " + r.from
	if r.file != "" {
		from = r.file
	}
	if len(all) == 0 {
		return fmt.Errorf("%s has no requests: tensortap run --keep-prompts records those that a server below it gets", from)
	}
	return fmt.Errorf("none of the %d requests of %s can be sent again: %s: %s; tensortap run --keep-prompts keeps it", len(all), from, all[0].ID, all[0].Missing)
}

// patience is how long steps that were served just now may take to the tables.
const (
	locateEvery = 200 * time.Millisecond
	locateFor   = 5 * time.Second
)

// locate finds the steps that made tokens that differ, where the servers are observed and their system can be asked.
func (a *app) locate(ctx context.Context, o *resend.Outcome) {
	if resend.Count(o.Rows, resend.Differs) == 0 || !a.hasStored() && a.clickhouse == "" {
		return
	}
	err := a.ask(ctx, func(ctx context.Context, client *system.Client) error {
		return o.Locate(a.stepFinder(ctx, client))
	})
	if err != nil {
		fmt.Fprintln(a.stderr, "warning: which steps made the tokens is not known:", printable(err))
	}
}

// stepFinder looks for a step, and for the first one that is not there waits until it may have come.
func (*app) stepFinder(ctx context.Context, client *system.Client) func(resend.Place) (*resend.Step, error) {
	until := time.Now().Add(locateFor)
	return func(p resend.Place) (*resend.Step, error) {
		for {
			step, err := client.StepOfToken(ctx, p)
			if err != nil || step != nil || time.Now().After(until) {
				return step, err
			}
			select {
			case <-ctx.Done():
				return nil, ctx.Err()
			case <-time.After(locateEvery):
			}
			if err := client.WaitCurrent(ctx); err != nil {
				return nil, err
			}
		}
	}
}

// tellReplayed writes the outcome, and is its exit status.
func (a *app) tellReplayed(r *resending, o *resend.Outcome) error {
	if err := unlessClosed(a.writeReplayed(r, o)); err != nil {
		return err
	}
	switch resend.Whole(o.Rows) {
	case resend.Differs:
		return errDiffers
	case resend.Unknown:
		return fmt.Errorf("of %d answers nothing can be said: the first is that of %s", resend.Count(o.Rows, resend.Unknown), o.FirstUnknown())
	case resend.Same:
	}
	return nil
}

func (a *app) writeReplayed(r *resending, o *resend.Outcome) error {
	if format := report.Format(r.output); format != report.Text {
		return report.WriteRecord(a.stdout, report.Style{Format: format}, resend.Record(o.Rows))
	}
	if err := o.WriteText(a.stdout, r.limit); err != nil {
		return err
	}
	return a.tellCompare(o)
}

// tellCompare says how to find the op behind a difference.
func (a *app) tellCompare(o *resend.Outcome) error {
	problem, bench, known := o.Runs()
	if !known {
		return nil
	}
	_, err := fmt.Fprintf(a.stdout, "next: %s compare %s %s, which pairs steps by what they served\n", a.program(), report.Argument(problem), report.Argument(bench))
	return err
}
