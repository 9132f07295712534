package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/tensortap/tensortap/analysis/report"
	"github.com/tensortap/tensortap/internal/system"
)

func newBaseline(a *app) *cobra.Command {
	return choice(&cobra.Command{
		Use:   "baseline",
		Short: "Compare runs with good ones as they land",
		Long: `Compare runs with good ones as they land. While a system runs, it judges each step of a
run that matches a baseline once both sides have the step whole. tensortap report
comparisons and report judged-steps show the results.`,
		Example: `  tensortap baseline set nightly --run good --match team=vision
  tensortap baseline list
  tensortap baseline remove nightly`,
	}, "command", newBaselineSet(a), newBaselineList(a), newBaselineRemove(a))
}

func newBaselineSet(a *app) *cobra.Command {
	var (
		request = system.BaselineRequest{Compare: system.DefaultCompareRequest()}
		rules   judgingWords
		labels  []string
	)
	cmd := &cobra.Command{
		Use:   "set NAME",
		Short: "Set a baseline, or replace one",
		Long: `Set a baseline, or replace the one of that name. Every run with all labels of --match,
or every run without --match, is compared with the runs of --run. If one of those is not
stored yet, a warning says so. The baseline keeps the known exceptions of today.`,
		Example: `  tensortap baseline set nightly --run good --match team=vision --match model=qwen3
  tensortap baseline set nightly --run good1 --run good2 --run good3 --strict
  tensortap baseline set fused --run reference --map fused.yaml --tolerance 1e-3`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			request.Name = args[0]
			if request.Labels, err = parseLabels(labels); err != nil {
				return err
			}
			if err := rules.apply(&request.Compare); err != nil {
				return err
			}
			return a.setBaseline(cmd.Context(), request)
		},
	}
	f := cmd.Flags()
	f.StringArrayVar(&request.Compare.Benches, "run", nil, "run to compare others with; given several times, runs pair with the first, and all make the band")
	f.StringArrayVar(&labels, "match", nil, "only runs with this label, name=value; given several times, only runs with all of them")
	rules.flags(cmd)
	_ = cmd.MarkFlagRequired("run")
	a.completeRunFlags(cmd, "run")
	return cmd
}

func (a *app) setBaseline(ctx context.Context, request system.BaselineRequest) error {
	return a.inRunning(ctx, "to set a baseline", func(ctx context.Context, client *system.Client) error {
		warnings, err := client.SetBaseline(ctx, request)
		a.warn(warnings, len(warnings))
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(a.stdout, "baseline %s is set\n", report.Printable(request.Name))
		return err
	})
}

func newBaselineList(a *app) *cobra.Command {
	return a.listing("baselines", &cobra.Command{
		Use:     "list",
		Short:   "List the baselines that are set",
		Example: "  tensortap baseline list\n  tensortap baseline list --output json",
	})
}

func newBaselineRemove(a *app) *cobra.Command {
	return &cobra.Command{
		Use:     "remove NAME",
		Short:   "Remove a baseline; its verdicts stay",
		Example: "  tensortap baseline remove nightly",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.inRunning(cmd.Context(), "to remove a baseline", func(ctx context.Context, client *system.Client) error {
				if err := client.RemoveBaseline(ctx, args[0]); err != nil {
					return err
				}
				_, err := fmt.Fprintf(a.stdout, "baseline %s is removed\n", report.Printable(args[0]))
				return err
			})
		},
	}
}
