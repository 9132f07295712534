package main

import (
	"context"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/tensortap/tensortap/internal/system"
)

// msprobeReport is what a report of msProbe's own answers is given.
type msprobeReport struct {
	request system.MsprobeRequest
	looks   looks
}

// newMsprobe makes the report of all rows, which is no SQL: pairing and rules are msProbe's.
func newMsprobe(a *app) *cobra.Command {
	m := &msprobeReport{request: system.DefaultMsprobeRequest()}
	m.looks.shown = []string{"rank", "step", "name", "bench_name", "msprobe_result", "max_relative_error", "mean_relative_error", "norm_relative_error"}
	cmd := m.command(a, "msprobe", "What does msProbe's own compare print, row by row?", `
Gives one row per rank, step, tensor or other argument of an op of the problem run.
Empty when the runs have no step of a rank in common.`)
	f := cmd.Flags()
	addRank(f, &m.request.Rank, -1, "only this rank of the problem; -1 for all")
	addSteps(f, &m.request.Steps, " of the problem")
	return cmd
}

// newOpMsprobe makes the report of one op.
func newOpMsprobe(a *app) *cobra.Command {
	m := &msprobeReport{request: system.DefaultMsprobeRequest()}
	m.request.Rank = 0
	cmd := m.command(a, "op-msprobe", "What does msProbe's own compare say of one op?", `
Gives one row per tensor or other argument of the op, as msProbe lists them.
Empty when the problem run does not have the op at that rank and step, or the bench run lacks the step.`)
	cmd.Aliases = []string{"op_msprobe"}
	cmd.Example = "  tensortap report op-msprobe --problem bad --bench good --op Functional.linear.7.forward"
	f := cmd.Flags()
	f.StringVar(&m.request.Op, "op", "", "full name of the op, as the problem calls it")
	_ = cmd.MarkFlagRequired("op")
	addRank(f, &m.request.Rank, 0, "rank of the problem")
	f.Uint32Var(&m.request.Step, "step", 0, "step of the problem")
	return cmd
}

func (m *msprobeReport) command(a *app, name, question, long string) *cobra.Command {
	cmd := &cobra.Command{
		Use: name, Short: question, Long: question + "\n" + long, Args: cobra.NoArgs,
		Example: "  tensortap report " + name + " --problem bad --bench good\n  tensortap report " + name + " --problem bad --bench good --output json",
		RunE:    func(cmd *cobra.Command, _ []string) error { return a.msprobeReport(cmd, m) },
	}
	f := cmd.Flags()
	f.StringVar(&m.request.Problem, "problem", "", "name of the run under suspicion")
	f.StringVar(&m.request.Bench, "bench", "", "name of the run it is held against")
	for _, run := range []string{"problem", "bench"} {
		_ = cmd.MarkFlagRequired(run)
		a.completeRunFlags(cmd, run)
	}
	f.Int64Var(&m.request.StepOffset, "step-offset", 0, "what to add to a step of the problem for that of the bench")
	m.looks.flags(cmd)
	m.looks.limitFlag(cmd, 0)
	return cmd
}

func (a *app) msprobeReport(cmd *cobra.Command, m *msprobeReport) error {
	style, err := m.looks.style()
	if err != nil {
		return err
	}
	r := m.request
	given := map[string]string{"problem": r.Problem, "bench": r.Bench, "op": r.Op}
	if cmd.Flags().Changed("rank") {
		given["rank"] = strconv.FormatInt(r.Rank, 10)
	}
	return a.ask(cmd.Context(), func(ctx context.Context, client *system.Client) error {
		if err := client.CheckPlaces(ctx, system.ReportRequest{Given: given}); err != nil {
			return err
		}
		if err := a.warnIncomplete(ctx, client, r.Problem, r.Bench); err != nil {
			return err
		}
		return client.MsprobeReport(ctx, r, a.stdout, style)
	})
}
