package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/tensortap/tensortap/analysis/mapping"
	"github.com/tensortap/tensortap/internal/system"
)

// readMap reads the file of --map.
func (c *comparing) readMap(request *system.CompareRequest) (err error) {
	switch {
	case c.mapping == "":
		return nil
	case c.suggestMap:
		return errors.New("--suggest-map does not go with --map: it writes a file that --map reads")
	case c.output == msprobeCSV:
		return errors.New("--output msprobe-csv does not go with --map: msProbe's compare pairs by the names of ops")
	}
	return mapped(request, c.mapping)
}

// addMap adds the flag of a mapping file.
func addMap(cmd *cobra.Command, file *string) {
	cmd.Flags().StringVar(file, "map", "", "`FILE` that pairs modules of the problem with modules of the bench; none: by names alone, whatever map ships")
	_ = cmd.MarkFlagFilename("map", "yaml", "yml")
}

// addCalibrate adds the flag of the run that measures what tensors may differ by.
func addCalibrate(f *pflag.FlagSet, run *string) {
	f.StringVar(run, "calibrate", "", "another run of the bench's program, as by other kernels or in other batches: a tensor may differ by twice as much as it does")
}

// mapped has runs compared by a mapping file, if there is one, or by names alone.
func mapped(request *system.CompareRequest, file string) (err error) {
	if file == "" {
		return nil
	}
	if request.ByName = file == mapping.None; request.ByName {
		return nil
	}
	request.Map, err = mapping.Read(file)
	return err
}

// suggestMap writes a mapping file to standard output.
func (a *app) suggestMap(ctx context.Context, request system.CompareRequest) error {
	if err := errors.Join(request.Validate(), request.CheckFolders()); err != nil {
		return err
	}
	var suggested string
	suggest := func() (err error) {
		suggested, err = system.SuggestMapOfFolders(ctx, request)
		return err
	}
	if !request.FoldersOnly() {
		suggest = func() error {
			return a.inRunning(ctx, whyRunning(request), func(ctx context.Context, client *system.Client) (err error) {
				suggested, err = client.SuggestMap(ctx, request)
				return err
			})
		}
	}
	if err := suggest(); err != nil {
		return err
	}
	if suggested == "" {
		return errors.New("no map to suggest: no module has a partner of another name, by weights or by values; both runs must have recorded modules (level L0 or mix)")
	}
	_, err := io.WriteString(a.stdout, fmt.Sprintf("# Suggested from shapes and statistics of weights and values: read it before you use it.\n%s", suggested))
	return err
}
