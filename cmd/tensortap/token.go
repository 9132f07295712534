package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tensortap/tensortap/internal/tokens"
)

func newToken(a *app) *cobra.Command {
	return choice(&cobra.Command{
		Use:     "token",
		Short:   "Make tokens of the page and the HTTP API",
		Long:    "Make tokens, by which tensortap serve --tokens FILE knows who asks and what for.",
		Example: "  tensortap token new --tokens tokens --role reader --name ci",
	}, "command", newTokenNew(a))
}

func newTokenNew(a *app) *cobra.Command {
	var file, role string
	var bearer tokens.Bearer
	cmd := &cobra.Command{
		Use:   "new",
		Short: "Make a token, and print it, once",
		Long: `Make a token, and print it, once: the file holds its digest alone. A reader asks; an
operator also captures, pokes and stops live runs. A server takes a new token within a
second, and lets one go whose line was removed.`,
		Example: `  tensortap token new --tokens tokens --role reader --name ci
  tensortap token new --tokens tokens --role operator --name anna`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			bearer.Role = tokens.Role(role)
			token, err := tokens.New(file, bearer, time.Now())
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(a.stdout, token)
			return unlessClosed(err)
		},
	}
	f := cmd.Flags()
	f.StringVar(&file, "tokens", "", "`FILE` of the tokens, made where there is none (required)")
	f.StringVar(&role, "role", "", strings.Join(tokens.Roles(), " or ")+" (required)")
	f.StringVar(&bearer.Name, "name", "", "who or what has it (required)")
	for _, name := range []string{"tokens", "role", "name"} {
		_ = cmd.MarkFlagRequired(name)
	}
	_ = cmd.MarkFlagFilename("tokens")
	_ = cmd.RegisterFlagCompletionFunc("role", cobra.FixedCompletions(tokens.Roles(), cobra.ShellCompDirectiveNoFileComp))
	return cmd
}
