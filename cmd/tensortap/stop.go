package main

import (
	"github.com/spf13/cobra"

	"github.com/tensortap/tensortap/producers/agent"
)

func newStop(a *app) *cobra.Command {
	var k asking
	var resume bool
	cmd := &cobra.Command{
		Use:   "stop --run NAME",
		Short: "Stop the recording of a live run; its program runs on",
		Long: `Stop the recording of a live run from each rank's next step on; its program runs on.
With --resume it records again as its settings say. tensortap capture records single
steps of a stopped run.

Exit status: 0 every rank does as asked, 2 some rank does not, or an error.`,
		Example: `  tensortap stop --run bad
  tensortap stop --run bad --resume`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			k.request.Do = agent.DoStop
			if resume {
				k.request.Do = agent.DoResume
			}
			asked, err := a.askRun(cmd.Context(), &k)
			if err != nil {
				return err
			}
			return a.tellAsked(&k, &asked)
		},
	}
	k.flags(a, cmd, capturePatience)
	cmd.Flags().BoolVar(&resume, "resume", false, "record again")
	return cmd
}
