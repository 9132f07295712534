package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/tensortap/tensortap/analysis/report"
	"github.com/tensortap/tensortap/internal/plural"
	"github.com/tensortap/tensortap/internal/speedscope"
	"github.com/tensortap/tensortap/producers/agent"
)

// Values of --sampler and --format.
const (
	samplerAuto = "auto"
	samplerSpy  = "py-spy"
	samplerOwn  = "own"

	formatSpeedscope = "speedscope"
	formatFolded     = "folded"
)

const profilePatience = 2 * time.Minute // for the steps of a profile

// tracing has the flags of trace.
type tracing struct {
	asking
	seconds         float64
	rate            int
	sampler, format string
	native          bool
	output          string
	profiler        bool
	steps           int
}

func newTrace(a *app) *cobra.Command {
	t := tracing{}
	cmd := &cobra.Command{
		Use:   "trace --run NAME",
		Short: "Take the stacks of ranks of a live run for some seconds, or torch.profiler for some steps",
		Long: `Take the stacks of ranks of a live run for some seconds: what their threads do now, as a file
for speedscope.app or flame graphs. py-spy samples them where it is installed, runs on the
ranks' host and may look into them: also native code, and processes that hang. Else each
rank samples itself: Python alone, in a thread of its own.

With --profiler each rank runs torch.profiler for some steps from its next step on. The
files are kept in the data folder of the agent; the command prints their paths.

Exit status: 0 every rank was traced, 2 some rank was not, or an error.`,
		Example: `  tensortap trace --run bad --rank 3 --seconds 10 -o trace.speedscope.json
  tensortap trace --run bad --format folded -o all.folded
  tensortap trace --run bad --rank 0 --profiler --steps 3`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := t.check(); err != nil {
				return err
			}
			if t.profiler {
				return a.profile(cmd.Context(), &t)
			}
			return a.trace(cmd.Context(), &t)
		},
	}
	t.flags(a, cmd, capturePatience)
	f := cmd.Flags()
	f.Float64Var(&t.seconds, "seconds", 10, "how long stacks are taken")
	f.IntVar(&t.rate, "rate", 100, "stacks a second, 1 to 1000")
	f.StringVar(&t.sampler, "sampler", samplerAuto, "who takes the stacks: auto, py-spy, own (a thread of each rank)")
	f.BoolVar(&t.native, "native", true, "with py-spy, stacks of native code, too")
	f.StringVar(&t.format, "format", formatSpeedscope, "speedscope, or folded (lines for flame graphs)")
	f.StringVarP(&t.output, "output", "o", "", "`FILE` for the stacks, trace.speedscope.json or trace.folded if not given; with --profiler, for a copy")
	f.BoolVar(&t.profiler, "profiler", false, "torch.profiler instead of stacks")
	f.IntVar(&t.steps, "steps", 2, "with --profiler, number of steps")
	_ = cmd.RegisterFlagCompletionFunc("sampler", cobra.FixedCompletions([]string{samplerAuto, samplerSpy, samplerOwn}, cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions([]string{formatSpeedscope, formatFolded}, cobra.ShellCompDirectiveNoFileComp))
	cmd.MarkFlagsMutuallyExclusive("profiler", "seconds")
	cmd.MarkFlagsMutuallyExclusive("profiler", "sampler")
	cmd.MarkFlagsMutuallyExclusive("profiler", "format")
	return cmd
}

// check refuses what every process would refuse.
func (t *tracing) check() error {
	const mostSeconds, mostRate, mostSteps = 3600, 1000, 1 << 20
	switch {
	case !(t.seconds > 0 && t.seconds <= mostSeconds):
		return fmt.Errorf("--seconds %v: want more than 0, and %d at most", t.seconds, mostSeconds)
	case t.rate < 1 || t.rate > mostRate:
		return fmt.Errorf("--rate %d: want 1 to %d", t.rate, mostRate)
	case t.steps < 1 || t.steps > mostSteps:
		return fmt.Errorf("--steps %d: want 1 to %d", t.steps, mostSteps)
	case !slices.Contains([]string{samplerAuto, samplerSpy, samplerOwn}, t.sampler):
		return fmt.Errorf("--sampler %s: want %s, %s or %s", t.sampler, samplerAuto, samplerSpy, samplerOwn)
	case !slices.Contains([]string{formatSpeedscope, formatFolded}, t.format):
		return fmt.Errorf("--format %s: want %s or %s", t.format, formatSpeedscope, formatFolded)
	}
	if t.output == "" && !t.profiler {
		t.output = map[string]string{formatSpeedscope: "trace.speedscope.json", formatFolded: "trace.folded"}[t.format]
	}
	return nil
}

func (t *tracing) span() time.Duration { return time.Duration(t.seconds * float64(time.Second)) }

// trace takes stacks, by py-spy where that can be, and writes them.
func (a *app) trace(ctx context.Context, t *tracing) error {
	all := &speedscope.File{Schema: speedscope.Schema, Name: "run " + t.run, Exporter: a.program()}
	by, err := a.spied(ctx, t, all)
	if err != nil {
		return err
	}
	missing := 0
	if !by {
		if missing, err = a.sampled(ctx, t, all); err != nil {
			return err
		}
	}
	if err := t.write(all); err != nil {
		return err
	}
	a.tellStacks(t, all)
	if missing > 0 {
		return fmt.Errorf("%s of run %s %s not traced: see above", plural.Of(missing, "rank"), t.run, plural.Verb(missing, "was", "were"))
	}
	return nil
}

// sampled has the ranks sample themselves, and says how many did not.
func (a *app) sampled(ctx context.Context, t *tracing, all *speedscope.File) (missing int, err error) {
	t.request = agent.Request{Do: agent.DoTrace, Ranks: t.request.Ranks, Seconds: t.seconds, Rate: t.rate}
	asked, err := a.askTrace(ctx, t, t.span()+t.patience)
	if err != nil {
		return 0, err
	}
	for i := range asked.Answers {
		answer := &asked.Answers[i]
		file, err := stacksOf(answer)
		if err != nil {
			missing++
			fmt.Fprintf(a.stderr, "%s %s\n", who(answer), t.untraced(answer, err))
			continue
		}
		all.Add(file, "")
		if file.Name != "" && file.Name != fmt.Sprintf("rank %d, process %d", answer.Rank, answer.PID) {
			fmt.Fprintln(a.stderr, report.Printable(file.Name)) // it was interrupted
		}
	}
	for _, rank := range asked.Silent {
		fmt.Fprintln(a.stderr, t.silent(rank))
	}
	if missing += len(asked.Silent); len(all.Profiles) == 0 && missing > 0 {
		return 0, fmt.Errorf("no rank of run %s was traced: see above", t.run)
	}
	return missing, nil
}

var errNoFile = errors.New("no file")

func stacksOf(answer *agent.Answer) (*speedscope.File, error) {
	if answer.State != agent.StateTraced || answer.Content == nil {
		return nil, errNoFile
	}
	return speedscope.Parse(answer.Content)
}

// untraced describes, in words, why there are no stacks of a rank, or no file of its profiler.
func (t *tracing) untraced(answer *agent.Answer, err error) string {
	switch {
	case answer.State == agent.StateTraced && err != nil && !errors.Is(err, errNoFile):
		return printable(err)
	case answer.State == agent.StateTraced:
		return "has written a file that is too large for a message: " + report.Printable(answer.File)
	case answer.State == agent.StateTracing && t.profiler:
		return fmt.Sprintf("has not made %s from step %d on within %v, or has ended; its file will be, or would have been, %s", plural.Of(t.steps, "step"), answer.FromStep, profilePatience, report.Printable(answer.File))
	case answer.State == agent.StateTracing:
		return "was interrupted: it ended, or was stopped, before its stacks were on file"
	case answer.State == agent.StatePending && !t.profiler:
		return fmt.Sprintf("gave no sign of life within %v: it is stopped, or code holds Python's lock; py-spy sees such a process, too", t.patience)
	}
	return t.became(answer)
}

func (t *tracing) write(all *speedscope.File) error {
	file, err := os.Create(t.output)
	if err != nil {
		return fmt.Errorf("write the stacks: %w", err)
	}
	write := all.Write
	if t.format == formatFolded {
		write = all.WriteFolded
	}
	if err := errors.Join(write(file), file.Close()); err != nil {
		return fmt.Errorf("write the stacks: %w", err)
	}
	return nil
}

// tellStacks says where the file is, and what each thread did most.
func (a *app) tellStacks(t *tracing, all *speedscope.File) {
	const most = 2
	for i := range all.Profiles {
		p := &all.Profiles[i]
		fmt.Fprintln(a.stdout, report.Printable(p.Name))
		for _, hot := range all.Hottest(p, most) {
			fmt.Fprintf(a.stdout, "  %3.0f %%  %s %s\n", hot.Share*100, report.Printable(hot.Name), report.Printable(hot.File))
		}
	}
	where := "open it on https://www.speedscope.app"
	if t.format == formatFolded {
		where = "its numbers are milliseconds"
	}
	fmt.Fprintf(a.stdout, "wrote %s: %s\n", report.Printable(t.output), where)
}
