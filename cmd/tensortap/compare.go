package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/tensortap/tensortap/analysis/compare"
	"github.com/tensortap/tensortap/internal/report"
	"github.com/tensortap/tensortap/internal/steps"
	"github.com/tensortap/tensortap/internal/system"
)

func newCompare(a *app) *cobra.Command {
	request := system.DefaultCompareRequest()
	request.ToolVersion = version
	var output, outputDir string
	var words comparisonWords
	cmd := &cobra.Command{
		Use:   "compare PROBLEM BENCH [BENCH…]",
		Short: "Say whether two runs differ, and where that begins",
		Long: `Say whether the problem run differs from the bench run, and where that begins: folders
of dumps, of msProbe or of SGLang's dumper, in a temporary system that is removed
afterwards, or names of stored runs. A folder is written with a slash, as ./bad or bad/,
a name without one is that of a run. With three bench runs or more, their spread is
the tolerance. What exists in one run only is counted and named, and does not by
itself make them differ.

A tolerance is a number, or a file of rules, the first that fits counts:
  # pattern of op or module   of dtype         greatest relative error
  model.layers.3.*            torch.bfloat16   0.02
  *                           *                1e-5
Without one it follows from dtype and depth.

Exit status: 0 nothing differs, 1 something differs, 2 an error, or too little data to say.`,
		Example: `  tensortap compare bad/dump/step0 good/dump/step0
  tensortap compare bad good --rank 3 --steps 10-20 --tolerance 1e-3
  tensortap compare bad good1 good2 good3
  tensortap compare bad good --output json
  tensortap compare bad good --output msprobe-csv --output-dir results`,
		Args:              cobra.MinimumNArgs(2),
		ValidArgsFunction: a.completeRunsOrFiles,
		RunE: func(cmd *cobra.Command, args []string) error {
			request.Problem, request.Benches = args[0], args[1:]
			if err := words.apply(&request); err != nil {
				return err
			}
			a.findPayloads(&request)
			if output == msprobeCSV {
				return a.compareAsMsprobe(cmd.Context(), request, outputDir)
			}
			return a.compare(cmd.Context(), request, output)
		},
	}
	f := cmd.Flags()
	words.flags(f)
	f.StringVar(&outputDir, "output-dir", "", "folder for the files of --output msprobe-csv, one for each rank and step; a single one goes to standard output without it")
	f.Int64Var(&request.Rank, "rank", request.Rank, "only this rank of the problem; -1 for all")
	f.BoolVar(&request.Strict, "strict", false, "what exists in one run only makes them differ")
	f.BoolVar(&request.Payload, "payload", false, "compare raw tensors too, element by element, where both dumps have them (task tensor)")
	f.StringVar(&request.Folders[0], "problem-dir", "", "with --payload: folder of the problem's dump, if the run is stored")
	f.StringVar(&request.Folders[1], "bench-dir", "", "likewise of the bench's")
	f.Uint64Var(&request.Limit, "limit", request.Limit, "greatest number of differing tensors to list; text shows at most 4")
	addOutput(cmd, &output)
	f.Lookup("output").Usage += ", " + msprobeCSV + " (what msProbe's own compare writes)"
	return cmd
}

// findPayloads has raw tensors of stored runs be looked for where processes of this host keep them, unless it is said where.
func (a *app) findPayloads(request *system.CompareRequest) {
	if _, err := os.Stat(a.payloads()); err != nil || !request.Payload || request.FoldersOnly() {
		return
	}
	for i, folder := range request.Folders {
		if folder == "" {
			request.Folders[i] = a.payloads()
		}
	}
}

// comparisonWords are what commands that compare take as text.
type comparisonWords struct {
	tolerance string
	steps     steps.Set
	offset    int64
}

func (w *comparisonWords) flags(f *pflag.FlagSet) {
	w.judgeFlags(f)
	addSteps(f, &w.steps, " of the problem")
}

// judgeFlags are those of commands that look at one step.
func (w *comparisonWords) judgeFlags(f *pflag.FlagSet) {
	f.StringVar(&w.tolerance, "tolerance", "", "greatest relative error that is tolerated, or a file of rules; by dtype and depth if not given")
	f.Int64Var(&w.offset, "step-offset", 0, "what to add to a step of the problem for that of the bench")
}

func (w *comparisonWords) apply(request *system.CompareRequest) (err error) {
	request.StepOffset, request.Steps = w.offset, w.steps
	if w.tolerance != "" {
		request.Tolerance, err = system.ParseTolerance(w.tolerance)
	}
	return err
}

func (a *app) compare(ctx context.Context, request system.CompareRequest, output string) error {
	format, err := report.ParseFormat(output)
	if err != nil {
		return err
	}
	if err := request.Validate(); err != nil {
		return err
	}
	style := report.Style{Format: format, Color: a.terminal(a.stdout) && a.getenv("NO_COLOR") == "", Program: a.program()}
	request.Texts = format != report.Text && format != report.JSON
	var comparison report.Comparison
	if err := request.CheckFolders(); err != nil {
		return err
	}
	if request.FoldersOnly() && !request.Payload {
		err := a.compareFolders(ctx, request, style)
		if !errors.Is(err, system.ErrNeedsStore) {
			return err
		}
	}
	ask := func(ctx context.Context, client *system.Client) error {
		var answer *compare.Answer
		comparison, answer, err = client.Compare(ctx, request)
		if err != nil {
			return err
		}
		a.warn(comparison.Warnings, comparison.WarningCount)
		return system.WriteAnswer(a.stdout, style, &comparison, answer)
	}
	if err := a.withRuns(ctx, request, ask); err != nil {
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
	if err := system.WriteAnswer(a.stdout, style, &comparison, answer); err != nil {
		return err
	}
	return judged(comparison.Verdict)
}

// judged is the exit status of a verdict.
func judged(verdict report.Verdict) error {
	switch verdict {
	case report.Differs:
		return errDiffers
	case report.Unknown:
		return errors.New("cannot say whether the runs differ: see above what is missing")
	case report.Same:
	}
	return nil
}

// withRuns runs the comparison where the runs are.
func (a *app) withRuns(ctx context.Context, request system.CompareRequest, ask question) error {
	if err := request.CheckFolders(); err != nil {
		return err
	}
	if request.FoldersOnly() {
		return a.inTemporary(ctx, ask)
	}
	why := fmt.Sprintf("%s and %s are names of runs%s; to compare stored runs", request.Problem, request.Bench(), system.FolderHint(request.Problem))
	return a.inRunning(ctx, why, ask)
}
