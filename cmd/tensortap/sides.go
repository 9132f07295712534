package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/tensortap/tensortap/analysis/report"
	"github.com/tensortap/tensortap/internal/system"
)

// twoRuns is how to call a command that takes the runs as compare does, or by flags.
const twoRuns = "{PROBLEM BENCH [BENCH…] | --problem PROBLEM --bench BENCH}"

// addRuns has a command take the two sides, as compare does or by flags. Named describes a side in the help.
func addRuns(cmd *cobra.Command, request *system.CompareRequest, named string, complete cobra.CompletionFunc) {
	f := cmd.Flags()
	f.StringVar(&request.Problem, "problem", "", named+" under suspicion")
	f.StringArrayVar(&request.Benches, "bench", nil, named+" to compare with; given several times, the problem pairs with the first, and all make the band")
	for _, name := range []string{"problem", "bench"} {
		_ = cmd.MarkFlagRequired(name)
		_ = cmd.RegisterFlagCompletionFunc(name, complete)
	}
	cmd.Args, cmd.ValidArgsFunction = takeRuns, complete
}

// takeRuns takes the runs that are named without flags as if flags had named them.
func takeRuns(cmd *cobra.Command, args []string) error {
	f := cmd.Flags()
	for _, flag := range []string{"problem", "bench"} {
		if len(args) > 0 && f.Changed(flag) {
			return fmt.Errorf("%s is named beside --%s: name both runs by flags, or both without", args[0], flag)
		}
	}
	if f.Changed("problem") && f.Changed("bench") {
		return nil
	}
	if err := wantRuns(cmd, args); err != nil {
		return err
	}
	for i, run := range args {
		flag := "bench"
		if i == 0 {
			flag = "problem"
		}
		if err := f.Set(flag, run); err != nil {
			return err
		}
	}
	return nil
}

// noteItself says that the problem is a bench, too, which no verdict shows.
func (a *app) noteItself(runs []string) {
	for _, bench := range runs[1:] {
		if system.SameSide(runs[0], bench) {
			fmt.Fprintf(a.stderr, "note: problem and bench are the same run, %s, which does not differ from itself\n", report.Printable(bench))
		}
	}
}

// wantRuns wants a problem and a bench at least.
func wantRuns(cmd *cobra.Command, args []string) error {
	switch len(args) {
	case 0:
		return fmt.Errorf("two runs are wanted, the problem and then the bench: %s PROBLEM BENCH", cmd.CommandPath())
	case 1:
		return fmt.Errorf("%s is to be held against another run: %s %[3]s BENCH", args[0], cmd.CommandPath(), report.Argument(args[0]))
	}
	return nil
}
