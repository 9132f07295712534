package main

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tensortap/tensortap/analysis/report"
	"github.com/tensortap/tensortap/internal/system"
)

// completionPatience is the longest wait of a shell for names: longer is a nuisance.
const completionPatience = 500 * time.Millisecond

// mostCompletions is the greatest number of names offered.
const mostCompletions = 100

// completeRuns offers the names of stored runs to a shell: those that the running system knows or, where none runs, those
// that its archive holds. It has nothing to complain of. It is for flags and for arguments alike.
func (a *app) completeRuns(cmd *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
	ctx, cancel := context.WithTimeout(cmd.Context(), completionPatience)
	defer cancel()
	if a.serversOfEnvironment() != nil { // a completion runs no PersistentPreRun
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	names, err := a.runNames(ctx, begun)
	if errors.Is(err, system.ErrNotRunning) {
		names, err = a.archivedNames(begun)
	}
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return showable(names), cobra.ShellCompDirectiveNoFileComp
}

// completeRunsOrFiles offers the names of stored runs, and where none begins so, the shell's own files and folders.
func (a *app) completeRunsOrFiles(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
	names, _ := a.completeRuns(cmd, args, begun)
	return names, cobra.ShellCompDirectiveDefault
}

func (a *app) runNames(ctx context.Context, begun string) ([]string, error) {
	endpoint, err := a.databaseEndpoint()
	if err != nil {
		return nil, err
	}
	reader, err := system.OpenReader(ctx, endpoint)
	if err != nil {
		return nil, err
	}
	defer reader.Close() //nolint:errcheck // only read
	var answer bytes.Buffer
	query := "SELECT DISTINCT name FROM tap_store.run WHERE startsWith(name, {begun:String}) ORDER BY name LIMIT {most:UInt64}"
	if err := reader.Write(ctx, &answer, report.Style{Format: report.CSV}, query, map[string]string{"begun": begun, "most": strconv.Itoa(mostCompletions)}); err != nil {
		return nil, err
	}
	lines, err := csv.NewReader(&answer).ReadAll()
	if err != nil || len(lines) == 0 {
		return nil, err
	}
	var names []string
	for _, line := range lines[1:] {
		names = append(names, line[0])
	}
	return names, nil
}

// archivedNames are the names that begin so, as the Parquet files have them.
func (a *app) archivedNames(begun string) ([]string, error) {
	folder, err := a.folder()
	if err != nil {
		return nil, err
	}
	names, err := system.ArchivedRuns(folder)
	names = slices.DeleteFunc(names, func(name string) bool { return !strings.HasPrefix(name, begun) })
	slices.Sort(names)
	return names[:min(len(names), mostCompletions)], err
}

// showable leaves out names that a shell could not show.
func showable(names []string) []string {
	return slices.DeleteFunc(names, func(name string) bool { return name != report.Printable(name) })
}

// completeRunFlags has the shell complete those flags of the command with names of runs.
func (a *app) completeRunFlags(cmd *cobra.Command, flags ...string) {
	for _, flag := range flags {
		_ = cmd.RegisterFlagCompletionFunc(flag, a.completeRuns)
	}
}
