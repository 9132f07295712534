package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/pflag"

	"github.com/tensortap/tensortap/analysis/jobs"
	"github.com/tensortap/tensortap/analysis/report"
	"github.com/tensortap/tensortap/internal/system"
)

// jobsFlag is the flag that names a file of comparisons, onlyNewFlag the flag that leaves out pairs judged before.
const (
	jobsFlag    = "jobs"
	onlyNewFlag = "only-new"
)

// jobsWriters write the results of a file of comparisons, by the value of --output.
func jobsWriters(suite string) map[string]func(io.Writer, []jobs.Result) error {
	return map[string]func(io.Writer, []jobs.Result) error{
		"text": jobs.Text, "json": jobs.JSON, "markdown": jobs.Markdown,
		"junit": func(to io.Writer, results []jobs.Result) error { return jobs.JUnit(to, suite, results) },
	}
}

// jobsOutputs are the values of --output with --jobs.
func jobsOutputs() []string { return []string{"text", "json", "junit", "markdown"} }

// onlyJobs refuses flags that each job of a file says for itself.
func onlyJobs(f *pflag.FlagSet) (err error) {
	together := []string{jobsFlag, onlyNewFlag, "output", "data", "nats", "clickhouse", "engine", "verbose"}
	f.Visit(func(given *pflag.Flag) {
		if !slices.Contains(together, given.Name) {
			err = fmt.Errorf("--%s does not go with --%s: the file has the settings of each job", given.Name, jobsFlag)
		}
	})
	return err
}

// compareJobs compares all pairs of a file, and ends with the status of the worst.
func (a *app) compareJobs(ctx context.Context, file, output string, onlyNew bool) error {
	write, known := jobsWriters(filepath.Base(file))[output]
	if !known {
		return fmt.Errorf("output %q: want one of %s with --%s", output, strings.Join(jobsOutputs(), ", "), jobsFlag)
	}
	all, err := jobs.Read(file)
	if err != nil {
		return err
	}
	results, err := a.runJobs(ctx, all, onlyNew)
	if err != nil {
		return fmt.Errorf("--%s: %w", onlyNewFlag, err)
	}
	for i := range results {
		for _, warning := range results[i].Warnings {
			fmt.Fprintf(a.stderr, "warning: %s: %s\n", report.Printable(results[i].Name), report.Printable(warning))
		}
	}
	if err := write(a.stdout, results); err != nil {
		return err
	}
	switch jobs.Status(results) {
	case exitSame:
		return nil
	case exitDiffers:
		return errDiffers
	}
	return errors.New(jobs.Summary(results))
}

// runJobs compares all pairs. Where stored runs cannot be reached, pairs of folders are compared all the same.
func (a *app) runJobs(ctx context.Context, all []jobs.Job, onlyNew bool) (results []jobs.Result, err error) {
	b := batch{app: a, onlyNew: onlyNew}
	if !jobs.Stored(all) {
		return b.run(ctx, all, nil)
	}
	asked := false
	var refused error
	err = a.inRunning(ctx, "the file names stored runs; to compare them", func(ctx context.Context, client *system.Client) error {
		asked = true
		b.client = client
		runs, err := client.RunNames(ctx)
		b.unreachable = err
		results, refused = b.run(ctx, all, runs)
		return nil
	})
	if asked {
		return results, refused
	}
	b.unreachable = err
	return b.run(ctx, all, nil)
}

// sideBySide is the number of pairs compared at a time: each reads and judges on several cores by
// itself.
const sideBySide = 2

// batch compares the pairs of a file.
type batch struct {
	app         *app
	client      *system.Client // of stored runs; nil where none is needed
	unreachable error          // why stored runs cannot be asked for
	onlyNew     bool           // leave out pairs judged before

	counted   sync.Mutex // over the progress
	progress  *progress
	done, all int64
}

// run compares the pairs of all jobs. The error names a job that --only-new cannot cover.
func (b *batch) run(ctx context.Context, all []jobs.Job, runs []string) ([]jobs.Result, error) {
	pairs := jobs.Expand(all, runs, jobs.Folders)
	if b.onlyNew {
		if err := jobs.OnlyStored(pairs); err != nil {
			return nil, err
		}
	}
	b.progress, b.all = b.app.progressIn("compare pairs", false), int64(len(pairs))
	defer b.progress.finish()
	return jobs.Run(ctx, pairs, jobs.Config{Parallel: sideBySide, Now: time.Now}, b.compare), nil
}

func (b *batch) compare(ctx context.Context, pair jobs.Pair) (jobs.Outcome, error) {
	defer b.count()
	request, err := requestOf(pair.Job)
	if err != nil {
		return jobs.Outcome{}, err
	}
	if b.onlyNew && b.unreachable == nil {
		if before, err := b.client.JudgedBefore(ctx, request); err != nil || before {
			return jobs.Outcome{Verdict: jobs.Skipped}, err
		}
	}
	comparison, err := b.judge(ctx, request)
	if err != nil {
		return jobs.Outcome{}, err
	}
	outcome := system.OutcomeOf(&comparison)
	var note strings.Builder
	err = comparison.WriteNote(&note, report.Style{Format: report.Text, Program: b.app.program()})
	outcome.Report = note.String()
	return outcome, err
}

func (b *batch) count() {
	b.counted.Lock()
	defer b.counted.Unlock()
	b.done++
	b.progress.set(b.done, b.all)
}

// requestOf is the request of a job.
func requestOf(job jobs.Job) (system.CompareRequest, error) {
	request := system.DefaultCompareRequest()
	request.ToolVersion = version
	request.Problem, request.Benches, request.Stored = job.Problem, job.Benches, job.Stored
	request.Rank, request.Steps, request.StepOffset, request.Strict = job.Rank, job.Steps, job.StepOffset, job.Strict
	var err error
	if job.Tolerance != "" {
		if request.Tolerance, err = system.ParseTolerance(job.Tolerance); err != nil {
			return request, err
		}
	}
	if err = mapped(&request, job.Map); err != nil {
		return request, err
	}
	return request, errors.Join(request.Validate(), request.CheckFolders())
}

// judge compares where the runs are.
func (b *batch) judge(ctx context.Context, request system.CompareRequest) (report.Comparison, error) {
	if !request.FoldersOnly() {
		if b.unreachable != nil {
			return report.Comparison{}, b.unreachable
		}
		comparison, _, err := b.client.Compare(ctx, request)
		return comparison, err
	}
	comparison, _, err := system.CompareFolders(ctx, request)
	return comparison, err
}
