package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/tensortap/tensortap/analysis/report"
	"github.com/tensortap/tensortap/internal/system"
)

func newExplain(a *app) *cobra.Command {
	request := system.DefaultExplainRequest()
	var output string
	var words comparisonWords
	cmd := &cobra.Command{
		Use:   "explain " + twoRuns,
		Short: "Show one op of two runs: inputs, outputs and verdicts",
		Long: `Show one op of two runs on one screen: its pairing, the inputs, parameters and outputs of
both sides, the evidence and tolerance of each verdict, the line that called the op, the
ops before it and their outputs, and the op at other steps and ranks.

The runs are stored runs, or folders of dumps. For folders nothing is stored or started.
A folder is written with a slash, as ./bad or bad/.

--op names an op or a module, or a part that only one op has. By default rank and step
are the first at which the op differs.`,
		Example: `  tensortap explain --problem bad --bench good --op Functional.linear.7.forward
  tensortap explain --problem bad --bench good --op layers.1.mlp --rank 3 --step 12
  tensortap explain bad/dump good/dump --op softmax.2 --stack
  tensortap explain --problem bad --bench good --op Functional.linear.7.forward --output json`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := words.apply(&request.Compare); err != nil {
				return err
			}
			request.WholeStack = request.WholeStack || a.verbose
			return a.explain(cmd.Context(), request, output)
		},
	}
	f := cmd.Flags()
	addRuns(cmd, &request.Compare, "name or folder of the run", a.completeRunsOrFiles)
	f.StringVar(&request.Name, "op", "", "name of an op, path of a module, or part of one")
	_ = cmd.MarkFlagRequired("op")
	words.judgeFlags(f)
	addCalibrate(f, &request.Compare.Calibrate)
	addRank(f, &request.Compare.Rank, -1, "rank of the problem; -1 for the first at which the op differs")
	f.Int64Var(&request.Step, "step", -1, "step of the problem; -1 for the first at which the op differs")
	f.IntVar(&request.Before, "before", request.Before, "number of ops before it to show")
	f.BoolVar(&request.WholeStack, "stack", false, "show the whole call stack, as -v does")
	addTextOrJSON(cmd, &output)
	return cmd
}

// addTextOrJSON adds --output to commands whose answer is no table.
func addTextOrJSON(cmd *cobra.Command, output *string) {
	cmd.Flags().StringVarP(output, "output", "o", string(report.Text), "text, json")
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions([]string{"text", "json"}, cobra.ShellCompDirectiveNoFileComp))
}

// textOrJSON reads that --output.
func textOrJSON(output string) (report.Format, error) {
	format := report.Format(output)
	if format != report.Text && format != report.JSON {
		return "", fmt.Errorf("output %q: want text or json", output)
	}
	return format, nil
}

func (a *app) explain(ctx context.Context, request system.ExplainRequest, output string) error {
	format, err := textOrJSON(output)
	if err != nil {
		return err
	}
	if err := request.Validate(); err != nil {
		return err
	}
	explanation, err := a.askExplain(ctx, request)
	if err != nil {
		return err
	}
	a.warn(explanation.Warnings, explanation.WarningCount)
	if format == report.Text {
		return explanation.WriteNote(a.stdout, report.Style{Program: a.program()})
	}
	return report.WriteObject(a.stdout, explanation.Object())
}

// askExplain asks where the runs are: of folders nothing has to be stored.
func (a *app) askExplain(ctx context.Context, request system.ExplainRequest) (explanation report.Explanation, err error) {
	if err := request.Compare.CheckFolders(); err != nil {
		return explanation, err
	}
	if request.Compare.FoldersOnly() {
		return system.ExplainFolders(ctx, request)
	}
	err = a.ask(ctx, func(ctx context.Context, client *system.Client) (err error) {
		explanation, err = client.Explain(ctx, request)
		return err
	})
	return explanation, err
}
