package main

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/tensortap/tensortap/internal/embedded/libchdb"
)

func newVersion(a *app) *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the versions of tensortap and of the engine",
		Example: "  tensortap version",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintf(a.stdout, "tensortap %s (%s, %s/%s), ClickHouse engine %s\n",
				version, runtime.Version(), runtime.GOOS, runtime.GOARCH, libchdb.Version)
			return err
		},
	}
}
