package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/tensortap/tensortap/analysis/compare"
	"github.com/tensortap/tensortap/analysis/pair"
	"github.com/tensortap/tensortap/analysis/report"
	"github.com/tensortap/tensortap/internal/system"
)

// pairingReport has the flags of report pairing.
type pairingReport struct {
	request  system.CompareRequest
	words    comparisonWords
	looks    looks
	mapping  string // file
	unpaired bool
}

// newPairing makes the report that is no SQL: the judge pairs ops.
func newPairing(a *app) *cobra.Command {
	p := pairingReport{request: system.DefaultCompareRequest()}
	cmd := &cobra.Command{
		Use:   "pairing " + twoRuns,
		Short: "How was each op of the problem paired with an op of the bench?",
		Long: `How was each op of the problem paired with an op of the bench?

Gives one row per pair of programs and op of either, in an order that merges both. Steps
and ranks with the same programs are listed once, by the first of them. With --map each
row names the line of the file that made the pair.
Empty when the runs have no step in common, or every op is paired and --unpaired is given.`,
		Example: `  tensortap report pairing --problem bad --bench good
  tensortap report pairing --problem bad --bench good --unpaired
  tensortap report pairing --problem bad --bench good --map fused.yaml --output csv`,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.pairing(cmd.Context(), &p) },
	}
	addRuns(cmd, &p.request, "name of the run", a.completeRuns)
	f := cmd.Flags()
	addRank(f, &p.request.Rank, -1, "only this rank of the problem; -1 for all")
	addSteps(f, &p.words.steps, " of the problem")
	f.Int64Var(&p.words.offset, "step-offset", 0, "number to add to a step of the problem to get the step of the bench")
	f.BoolVar(&p.unpaired, "unpaired", false, "only ops without partner")
	p.looks.limitFlag(cmd, 1000)
	addMap(cmd, &p.mapping)
	p.looks.flags(cmd)
	return cmd
}

func (a *app) pairing(ctx context.Context, p *pairingReport) error {
	style, err := p.looks.style()
	if err != nil {
		return err
	}
	request := p.request
	if err := errors.Join(p.words.apply(&request), mapped(&request, p.mapping)); err != nil {
		return err
	}
	return a.ask(ctx, func(ctx context.Context, client *system.Client) error {
		if err := a.warnIncomplete(ctx, client, request.Problem, request.Bench()); err != nil {
			return err
		}
		paired, err := client.Pairing(ctx, request)
		if tooMany := (*pair.TooManyProgramsError)(nil); errors.As(err, &tooMany) {
			fmt.Fprintln(a.stderr, "INCOMPLETE:", tooMany)
		} else if err != nil {
			return err
		}
		if p.unpaired {
			paired = system.Unpaired(paired)
		}
		return report.WriteRecord(a.stdout, style, compare.PairingTable(paired))
	})
}
