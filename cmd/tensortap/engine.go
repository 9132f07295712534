package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/tensortap/tensortap/internal/embedded"
	"github.com/tensortap/tensortap/internal/embedded/libchdb"
)

func newEngine(a *app) *cobra.Command {
	return choice(&cobra.Command{
		Use:     "engine",
		Short:   "Install the embedded ClickHouse engine",
		Example: "  tensortap engine install",
	}, "command", newEngineInstall(a), newEngineServe())
}

func newEngineInstall(a *app) *cobra.Command {
	var from string
	cmd := &cobra.Command{
		Use:   "install",
		Short: "Fetch the engine's library with npm, or take it from a file",
		Long: `Fetch the pinned library of the ClickHouse engine with npm, or take it from a file
on a machine without network, verify it, and put it where tensortap looks for it.`,
		Example: `  tensortap engine install
  tensortap engine install --from chdb-lib-linux-x64-gnu-26.7.3-stable.1.tgz`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			path, err := a.install(cmd, from)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(a.stdout, "installed", path)
			return err
		},
	}
	cmd.Flags().StringVar(&from, "from", "", "the npm package's .tgz, or the library itself")
	return cmd
}

func (a *app) install(cmd *cobra.Command, from string) (string, error) {
	if from == "" {
		return libchdb.Fetch(cmd.Context(), a.engineFolder(), a.stderr)
	}
	return libchdb.Install(cmd.Context(), from, a.engineFolder())
}

// newEngineServe runs this executable as the engine's process.
func newEngineServe() *cobra.Command {
	return &cobra.Command{
		Use:    "serve",
		Short:  "Be the engine (started by tensortap itself)",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE:   func(*cobra.Command, []string) error { return embedded.RunEngine(os.Stdin, os.Stderr) },
	}
}
