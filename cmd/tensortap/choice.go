package main

import (
	"fmt"

	"github.com/spf13/cobra"
)

// choice makes a command that only holds others, each of which is a what. For an unknown name the error names the
// nearest one, also if flags follow that were meant for it.
func choice(cmd *cobra.Command, what string, parts ...*cobra.Command) *cobra.Command {
	cmd.AddCommand(parts...)
	cmd.Args = func(cmd *cobra.Command, args []string) error { return unknownPart(cmd, what, args) }
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	cmd.SetFlagErrorFunc(func(of *cobra.Command, err error) error {
		if of != cmd {
			return err
		}
		if unknown := unknownPart(cmd, what, cmd.Flags().Args()); unknown != nil {
			return unknown
		}
		return fmt.Errorf("%w; the name of a %s comes first, and %s lists all", err, what, cmd.CommandPath())
	})
	return cmd
}

// unknownPart refuses a name that no part of the command has.
func unknownPart(cmd *cobra.Command, what string, args []string) error {
	if len(args) == 0 {
		return nil
	}
	const farthest = 12 // of words as long as names of reports are
	for cmd.SuggestionsMinimumDistance = 1; cmd.SuggestionsMinimumDistance <= farthest; cmd.SuggestionsMinimumDistance++ {
		if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
			return fmt.Errorf("unknown %s %q: do you mean %s? %s lists all", what, args[0], near[0], cmd.CommandPath())
		}
	}
	return fmt.Errorf("unknown %s %q: %s lists all", what, args[0], cmd.CommandPath())
}
