package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/tensortap/tensortap/analysis/compare"
	"github.com/tensortap/tensortap/analysis/report"
	"github.com/tensortap/tensortap/internal/steps"
	"github.com/tensortap/tensortap/internal/system"
)

// comparing has the flags and arguments of compare.
type comparing struct {
	request           system.CompareRequest
	words             comparisonWords
	by                string
	output, outputDir string
	jobs, mapping     string // files
	suggestMap        bool
	onlyNew           bool
}

func newCompare(a *app) *cobra.Command {
	c := comparing{request: system.DefaultCompareRequest()}
	c.request.ToolVersion = version
	cmd := &cobra.Command{
		Use:   "compare {PROBLEM BENCH [BENCH…] | --jobs FILE}",
		Short: "Say whether two runs differ, and where the difference begins",
		Long: `Say whether the problem run differs from the bench run, and where the difference begins.
A run is a folder of dumps, of msProbe or of SGLang's dumper, or the name of a stored
run. For folders nothing is stored or started. A folder is written with a slash, as
./bad or bad/. A name without a slash, or without such a folder, names a run. With three
bench runs or more, their spread is the tolerance. Ops of one run only are counted and
named, and do not by themselves make the runs differ.

A tolerance is a number, or a file of rules; the first rule that fits counts:
  # pattern of op or module   of dtype         greatest relative error
  model.layers.3.*            torch.bfloat16   0.02
  *                           *                1e-5
By default it follows from dtype and depth. With --calibrate, another run of the bench's
program widens it where that run differs from the bench itself.

With --jobs, a file names many pairs. They are compared side by side. A pair that fails
does not stop the others. The worst pair sets the exit status (docs/jobs.md).

With --map, a file pairs modules of the problem with modules of the bench, where the runs
name or fuse them differently; --suggest-map writes a first one (docs/mapping.md). Runs of
one model in Transformers, vLLM, SGLang and Megatron are paired by maps that ship
(docs/cross.md), unless a file is given, or none.

With --by token, two stored runs of level tokens pair by prompt, sample and position,
whatever the batch; it says the layer behind which tokens begin to differ.

Exit status: 0 nothing differs, 1 something differs, 2 an error, or too little data to
decide.`,
		Example: `  tensortap compare bad/dump/step0 good/dump/step0
  tensortap compare bad good --rank 3 --steps 10-20 --tolerance 1e-3
  tensortap compare bad good1 good2 good3
  tensortap compare bad good --output json
  tensortap compare bad good --output html > bad.html
  tensortap compare bad good --output msprobe-csv --output-dir results
  tensortap compare --jobs nightly.yaml --output junit
  tensortap compare rollout trainer --by token
  tensortap compare engine/dump reference/dump --suggest-map
  tensortap compare engine/dump reference/dump --map fused.yaml`,
		Args:              c.checkArguments,
		ValidArgsFunction: a.completeRunsOrFiles,
		RunE:              func(cmd *cobra.Command, args []string) error { return a.compareAny(cmd, &c, args) },
	}
	c.flags(cmd)
	return cmd
}

// checkArguments wants two runs, unless a file names them.
func (c *comparing) checkArguments(cmd *cobra.Command, args []string) error {
	if c.jobs == "" && c.onlyNew {
		return fmt.Errorf("--%s goes with --%s alone", onlyNewFlag, jobsFlag)
	}
	if c.jobs == "" {
		return wantRuns(cmd, args)
	}
	if len(args) > 0 {
		return fmt.Errorf("%s does not go with --%s: the file names the runs", args[0], jobsFlag)
	}
	return onlyJobs(cmd.Flags())
}

// flags adds the flags of compare.
func (c *comparing) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	c.words.flags(f)
	f.StringVar(&c.by, byFlag, byTensor, byTensor+", or "+byToken+": tokens of runs of level tokens, by prompt and position")
	_ = cmd.RegisterFlagCompletionFunc(byFlag, cobra.FixedCompletions([]string{byTensor, byToken}, cobra.ShellCompDirectiveNoFileComp))
	f.StringVar(&c.outputDir, "output-dir", "", "folder for the files of --output msprobe-csv, one for each rank and step; without it a single file goes to standard output")
	addRank(f, &c.request.Rank, -1, "only this rank of the problem; -1 for all")
	f.BoolVar(&c.request.Strict, "strict", false, "ops of one run only make the runs differ")
	f.BoolVar(&c.request.Payload, "payload", false, "compare raw tensors too, element by element, where both dumps have them (task tensor)")
	f.StringVar(&c.request.Folders[0], "problem-dir", "", "with --payload: folder of the problem's dump, if the run is stored")
	f.StringVar(&c.request.Folders[1], "bench-dir", "", "with --payload: folder of the bench's dump, if the run is stored")
	f.Uint64Var(&c.request.Limit, "limit", c.request.Limit, "greatest number of differing tensors to list, 0 for all; text shows at most 4")
	f.StringVar(&c.jobs, jobsFlag, "", "compare all pairs in this `FILE`")
	f.BoolVar(&c.onlyNew, onlyNewFlag, false, "with --jobs: leave out pairs of stored runs that were judged before and have not changed")
	addMap(cmd, &c.mapping)
	addCalibrate(f, &c.request.Calibrate)
	f.BoolVar(&c.suggestMap, "suggest-map", false, "write such a file instead, from the shapes and statistics of weights and values")
	_ = cmd.MarkFlagFilename(jobsFlag, "yaml", "yml")
	values := append(report.Formats(), htmlFile, msprobeCSV, "junit", "markdown")
	f.StringVarP(&c.output, "output", "o", string(report.Text), strings.Join(report.Formats(), ", ")+", "+htmlFile+" (one file that a browser opens, with its page), "+msprobeCSV+
		" (what msProbe's own compare writes); with --jobs "+strings.Join(jobsOutputs(), ", "))
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
}

// compareAny compares as the flags say.
func (a *app) compareAny(cmd *cobra.Command, c *comparing, args []string) error {
	if c.jobs != "" {
		return a.compareJobs(cmd.Context(), c.jobs, c.output, c.onlyNew)
	}
	err := a.compareRuns(cmd, c, args)
	if c.words.offset == 0 && (err == nil || errors.Is(err, errDiffers)) { // else a step stands beside another one
		a.noteItself(args)
	}
	return err
}

func (a *app) compareRuns(cmd *cobra.Command, c *comparing, args []string) error {
	switch c.by {
	case byToken:
		return a.compareTokens(cmd, c, args)
	case byTensor:
	default:
		return fmt.Errorf("--%s %s: want %s or %s", byFlag, c.by, byTensor, byToken)
	}
	request := c.request
	if request.Limit == 0 {
		request.Limit = math.MaxInt64
	}
	request.Problem, request.Benches = args[0], args[1:]
	if err := c.words.apply(&request); err != nil {
		return err
	}
	if err := c.readMap(&request); err != nil {
		return err
	}
	a.findPayloads(&request)
	switch {
	case c.suggestMap:
		return a.suggestMap(cmd.Context(), request)
	case c.output == htmlFile:
		return a.compareAsFile(cmd.Context(), request)
	case c.output == msprobeCSV:
		return a.compareAsMsprobe(cmd.Context(), request, c.outputDir)
	}
	return a.compare(cmd.Context(), request, c.output)
}

// findPayloads sets the folders of raw tensors of stored runs to those of this host's processes, unless flags name
// others.
func (a *app) findPayloads(request *system.CompareRequest) {
	kept := a.keptHere()
	if kept == "" || !request.Payload || request.FoldersOnly() {
		return
	}
	for i, folder := range request.Folders {
		if folder == "" {
			request.Folders[i] = kept
		}
	}
}

// comparisonWords are the text flags of commands that compare.
type comparisonWords struct {
	tolerance string
	steps     steps.Set
	offset    int64
}

func (w *comparisonWords) flags(f *pflag.FlagSet) {
	w.judgeFlags(f)
	addSteps(f, &w.steps, " of the problem")
}

// judgeFlags are the flags of commands that look at one step.
func (w *comparisonWords) judgeFlags(f *pflag.FlagSet) {
	f.StringVar(&w.tolerance, "tolerance", "", "greatest relative error that is tolerated, or a file of rules; by default by dtype and depth")
	f.Int64Var(&w.offset, "step-offset", 0, "number to add to a step of the problem to get the step of the bench")
}

func (w *comparisonWords) apply(request *system.CompareRequest) (err error) {
	request.StepOffset, request.Steps = w.offset, w.steps
	if w.tolerance != "" {
		request.Tolerance, err = system.ParseTolerance(w.tolerance)
	}
	return err
}

func (a *app) compare(ctx context.Context, request system.CompareRequest, output string) error {
	format, err := report.ParseFormat(output, htmlFile, msprobeCSV)
	if err != nil {
		return fmt.Errorf("%w; with --%s %s", err, jobsFlag, strings.Join(jobsOutputs(), ", "))
	}
	if err := request.Validate(); err != nil {
		return err
	}
	style := report.Style{Format: format, Color: a.colored(a.stdout), Program: a.program()}
	request.Texts = format != report.Text && format != report.JSON
	var comparison report.Comparison
	if err := request.CheckFolders(); err != nil {
		return err
	}
	if request.FoldersOnly() {
		return a.compareFolders(ctx, request, style)
	}
	ask := func(ctx context.Context, client *system.Client) error {
		var answer *compare.Answer
		comparison, answer, err = client.Compare(ctx, request)
		if err != nil {
			return err
		}
		a.warn(comparison.Warnings, comparison.WarningCount)
		a.tellUnlisted(&comparison, request.Limit, format)
		return unlessClosed(system.WriteAnswer(a.stdout, style, &comparison, answer))
	}
	if err := a.inRunning(ctx, whyRunning(request), ask); err != nil {
		return err
	}
	return judged(comparison.Verdict)
}

// compareFolders compares dumps on disk, where nothing has to be stored for it.
func (a *app) compareFolders(ctx context.Context, request system.CompareRequest, style report.Style) error {
	comparison, answer, err := system.CompareFolders(ctx, request)
	if err != nil {
		return err
	}
	a.warn(comparison.Warnings, comparison.WarningCount)
	a.tellUnlisted(&comparison, request.Limit, style.Format)
	if err := unlessClosed(system.WriteAnswer(a.stdout, style, &comparison, answer)); err != nil {
		return err
	}
	return judged(comparison.Verdict)
}

// tellUnlisted says on standard error what the limit left out of a table, where that cannot say so itself.
func (a *app) tellUnlisted(c *report.Comparison, limit uint64, format report.Format) {
	listed := uint64(len(c.Divergence.Rows))
	if format == report.Text || format == report.JSON || listed < limit || c.Unlisted() == 0 {
		return
	}
	fmt.Fprintf(a.stderr, "note: %d of %d rows that differ are listed; --limit 0 lists all\n", listed, listed+c.Unlisted())
}

// judged is the exit status of a verdict.
func judged(verdict report.Verdict) error {
	switch verdict {
	case report.Differs:
		return errDiffers
	case report.Unknown:
		return errors.New("cannot say whether the runs differ: the missing parts are named above")
	case report.Same:
	}
	return nil
}

// whyRunning says for what a system is needed.
func whyRunning(request system.CompareRequest) string {
	return system.NamesRun(request.Problem) + "; " + system.NamesRun(request.Bench()) + "; to compare stored runs"
}
