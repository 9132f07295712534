package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/tensortap/tensortap/analysis/msprobe/msprobecsv"
	"github.com/tensortap/tensortap/analysis/report"
	"github.com/tensortap/tensortap/internal/system"
)

// msprobeCSV is the value of --output for the files that msProbe's own compare writes.
const msprobeCSV = "msprobe-csv"

// compareAsMsprobe writes those files: one for each rank and step, into a folder, or the only one to standard output.
func (a *app) compareAsMsprobe(ctx context.Context, request system.CompareRequest, dir string) error {
	if err := errors.Join(request.Validate(), request.CheckFolders()); err != nil {
		return err
	}
	files := msprobeFiles{dir: dir, stdout: a.stdout}
	if request.FoldersOnly() {
		comparison, err := system.CompareFoldersAsMsprobe(ctx, request, files.open)
		if err != nil {
			return err
		}
		a.warn(comparison.Warnings, comparison.WarningCount)
		return judged(comparison.Verdict)
	}
	verdict := report.Unknown
	err := a.inRunning(ctx, whyRunning(request), func(ctx context.Context, client *system.Client) error {
		comparison, _, err := client.Compare(ctx, request)
		if err != nil {
			return err
		}
		a.warn(comparison.Warnings, comparison.WarningCount)
		if err := a.comparePayloads(ctx, client, request); err != nil {
			return err
		}
		verdict = comparison.Verdict
		return client.WriteMsprobeCSV(ctx, request, files.open)
	})
	if err != nil {
		return err
	}
	return judged(verdict)
}

// comparePayloads compares the raw tensors that msProbe would read, if it is known where they lie. With --payload that
// is done already.
func (a *app) comparePayloads(ctx context.Context, client *system.Client, request system.CompareRequest) error {
	if request.Payload || request.Folders[0] == "" || request.Folders[1] == "" {
		return nil
	}
	result, err := client.ComparePayloads(ctx, system.PayloadRequest{
		Problem: request.Problem, Bench: request.Bench(), Folders: request.Folders,
		Rank: request.Rank, Steps: request.Steps, StepOffset: request.StepOffset,
	})
	a.warn(result.Problems, result.Unreadable)
	return err
}

// msprobeFiles are where the rows go.
type msprobeFiles struct {
	dir    string
	stdout io.Writer
	opened int
}

func (f *msprobeFiles) open(at msprobecsv.Place) (io.WriteCloser, error) {
	f.opened++
	if f.dir != "" {
		return f.create(at)
	}
	if f.opened > 1 {
		return nil, errors.New("there is more than one rank and step, and msProbe has a file for each: name a folder for them with --output-dir, or one with --rank and --steps")
	}
	return notOurs{f.stdout}, nil
}

func (f *msprobeFiles) create(at msprobecsv.Place) (io.WriteCloser, error) {
	if err := os.MkdirAll(f.dir, 0o777); err != nil { //nolint:gosec // the user's umask decides
		return nil, fmt.Errorf("make the folder of results: %w", err)
	}
	path := filepath.Join(f.dir, at.FileName())
	file, err := os.Create(path) //nolint:gosec // in the folder that the user named
	if err != nil {
		return nil, fmt.Errorf("write %s: %w", report.Printable(path), err)
	}
	return file, nil
}

// notOurs is a writer that is not ours to close.
type notOurs struct{ io.Writer }

// Close implements io.Closer.
func (notOurs) Close() error { return nil }
