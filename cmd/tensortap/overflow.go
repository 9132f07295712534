package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/tensortap/tensortap/analysis/overflow"
	"github.com/tensortap/tensortap/analysis/report"
	"github.com/tensortap/tensortap/internal/system"
)

// msprobeJSON is the value of --output for the file that msProbe's overflow_check writes.
const msprobeJSON = "msprobe-json"

func newOverflow(a *app) *cobra.Command {
	request := system.DefaultOverflowRequest()
	var output string
	cmd := &cobra.Command{
		Use:   "overflow RUN|DIR",
		Short: "Say where NaN or infinity began in one run",
		Long: `Say where NaN or infinity began in one run, over all its ranks. The run is a stored run,
or a folder of dumps, written with a slash as ./bad or bad/. For a folder nothing is
stored or started. Masks of -Inf, memory that nobody wrote and other known exceptions
are left out and counted.

--output msprobe-json writes the file of msProbe's overflow_check, by its rules: nothing
if they find nothing. The exit status still follows our own rules.

Exit status: 0 all is finite, 1 something is not, 2 an error, or too little data to
decide.`,
		Example: `  tensortap overflow bad/dump
  tensortap overflow bad --steps 100- --output json`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.completeRunsOrFiles,
		RunE: func(cmd *cobra.Command, args []string) error {
			request.Run = args[0]
			if err := request.Validate(); err != nil {
				return err
			}
			return a.overflow(cmd.Context(), request, output)
		},
	}
	f := cmd.Flags()
	addRank(f, &request.Rank, -1, "only this rank; -1 for all")
	addSteps(f, &request.Steps, "")
	addOutput(cmd, &output)
	f.Lookup("output").Usage += ", " + msprobeJSON
	return cmd
}

func (a *app) overflow(ctx context.Context, request system.OverflowRequest, output string) error {
	if output == msprobeJSON {
		return a.overflowAsMsprobe(ctx, request)
	}
	format, err := report.ParseFormat(output, msprobeJSON)
	if err != nil {
		return err
	}
	style := report.Style{Format: format, Color: a.colored(a.stdout), Program: a.program()}
	said, answer, err := a.askOverflow(ctx, request)
	if err != nil {
		return err
	}
	a.warn(said.Warnings, said.WarningCount)
	if err := unlessClosed(system.WriteOverflow(a.stdout, style, &said, answer)); err != nil {
		return err
	}
	return finite(&said)
}

// askOverflow asks where the run is: of a folder nothing has to be stored.
func (a *app) askOverflow(ctx context.Context, request system.OverflowRequest) (said report.Overflow, answer *overflow.Answer, err error) {
	if request.Folder() {
		return system.OverflowFolder(ctx, request)
	}
	err = a.inRunning(ctx, whyLooking(request), func(ctx context.Context, client *system.Client) (err error) {
		said, answer, err = client.Overflow(ctx, request)
		return err
	})
	return said, answer, err
}

// overflowAsMsprobe writes the file of msProbe's overflow_check.
func (a *app) overflowAsMsprobe(ctx context.Context, request system.OverflowRequest) error {
	if request.Rank >= 0 {
		return errors.New("--output msprobe-json covers all ranks: leave out --rank")
	}
	said, err := a.askMsprobeOverflow(ctx, request)
	if err != nil {
		return err
	}
	return finite(&said)
}

func (a *app) askMsprobeOverflow(ctx context.Context, request system.OverflowRequest) (said report.Overflow, err error) {
	if request.Folder() {
		said, err = system.OverflowFolderAsMsprobe(ctx, request, a.stdout)
		if err == nil {
			a.warn(said.Warnings, said.WarningCount)
		}
		return said, err
	}
	err = a.inRunning(ctx, whyLooking(request), func(ctx context.Context, client *system.Client) (err error) {
		if said, _, err = client.Overflow(ctx, request); err != nil {
			return err
		}
		a.warn(said.Warnings, said.WarningCount)
		_, err = client.WriteMsprobeOverflow(ctx, a.stdout, said.Run, request.Steps)
		return err
	})
	return said, err
}

// finite is the exit status of an answer.
func finite(said *report.Overflow) error {
	switch said.Judge() {
	case report.NotFinite:
		return errDiffers
	case report.Unsure:
		return errors.New("cannot say whether the run is finite: the missing parts are named above")
	case report.Finite:
	}
	return nil
}

// whyLooking says for what a system is needed.
func whyLooking(request system.OverflowRequest) string {
	return system.NamesRun(request.Run) + "; to look at a stored run"
}
