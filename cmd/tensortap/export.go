package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/tensortap/tensortap/analysis/report"
	"github.com/tensortap/tensortap/internal/plural"
	"github.com/tensortap/tensortap/internal/system"
)

func newExport(a *app) *cobra.Command {
	return choice(&cobra.Command{
		Use:     "export",
		Short:   "Write a stored run in another tool's format",
		Example: "  tensortap export msprobe --run bad dump/",
	}, "tool", newExportMsprobe(a))
}

func newExportMsprobe(a *app) *cobra.Command {
	request := system.DefaultExportRequest()
	cmd := &cobra.Command{
		Use:   "msprobe DIR",
		Short: "Write a dump of msProbe",
		Long: `Write any stored run as a dump for msProbe's own tools: dump.json, stack.json and
construct.json in DIR/step0/rank0 and so on. Raw tensors that were kept are written beside
them, as dump_tensor_data; they are looked for in this host's data folder. Steps that have
not ended are left out.`,
		Example: `  tensortap export msprobe --run bad dump/
  tensortap export msprobe --run bad dump/ --rank 0 --steps 100-110
  tensortap export msprobe --run bad dump/ --payload-dir copied/payloads`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			request.Dir = args[0]
			if request.Payloads == "" {
				request.Payloads = a.keptHere()
			}
			return a.ask(cmd.Context(), func(ctx context.Context, client *system.Client) error {
				return a.exportMsprobe(ctx, client, request)
			})
		},
	}
	f := cmd.Flags()
	f.StringVar(&request.Run, "run", "", "name of the run")
	f.Int64Var(&request.Rank, "rank", request.Rank, "only this rank; -1 for all")
	addSteps(f, &request.Steps, "")
	f.StringVar(&request.Payloads, "payload-dir", "", "folder of the run's raw tensors, or of the dump that it was published from")
	a.completeRunFlags(cmd, "run")
	_ = cmd.MarkFlagRequired("run")
	return cmd
}

func (a *app) exportMsprobe(ctx context.Context, client *system.Client, request system.ExportRequest) error {
	if err := a.warnIncomplete(ctx, client, request.Run); err != nil {
		return err
	}
	progress := a.progress("export " + request.Run)
	result, err := client.ExportMsprobe(ctx, request, progress.set)
	progress.finish()
	if result.Unplaced > 0 {
		fmt.Fprintf(a.stderr, "warning: %d values or ops could not be written: they are not defined, or stand twice at one place\n", result.Unplaced)
	}
	a.warn(result.Problems, result.Unreadable)
	if err != nil {
		return err
	}
	fmt.Fprintf(a.stdout, "run %s: wrote %s of %s, %s of ranks%s, to %s\n",
		report.Printable(request.Run), plural.Of(result.Values, "value"), plural.Of(result.Ops, "op"), plural.Of(result.Dumps, "step"), rawWritten(result.Raw), report.Printable(request.Dir))
	return nil
}
