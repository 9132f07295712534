package jobs

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
)

// Stored says whether any of the jobs may name a stored run.
func Stored(jobs []Job) bool {
	e := expansion{folders: Folders}
	return slices.ContainsFunc(jobs, func(j Job) bool {
		return slices.ContainsFunc(j.sides(), func(side string) bool { return !isPath(side) || !e.isThere(side) })
	})
}

func (j Job) sides() []string { return append([]string{j.Problem}, j.Benches...) }

// read is the job with names of runs in place of paths where nothing is. The error names a path that is neither.
func (e *expansion) read(job Job) (Job, error) {
	var faults []error
	side := func(name string) string {
		read, err := e.side(job, name)
		faults = append(faults, err)
		return read
	}
	benches := make([]string, len(job.Benches))
	job.Problem = side(job.Problem)
	for i, bench := range job.Benches {
		benches[i] = side(bench)
	}
	job.Benches = benches
	job.Stored = !slices.ContainsFunc(job.sides(), func(name string) bool { return isPath(name) && !e.named[name] })
	return job, errors.Join(faults...)
}

// OnlyStored refuses pairs of folders, of which nobody knows what was judged before.
func OnlyStored(pairs []Pair) error {
	for i := range pairs {
		if p := &pairs[i]; p.Fault == nil && !p.Stored {
			return fmt.Errorf("line %d: job %q is of folders, of which nothing is kept: what was judged before is known of stored runs only", p.Line, p.Name)
		}
	}
	return nil
}

// side is the name of a run, or a path. Patterns that fit nothing say so later.
func (e *expansion) side(job Job, name string) (string, error) {
	written, path := job.written[name]
	switch {
	case !path || e.isThere(name):
		return name, nil
	case slices.ContainsFunc(e.runs, matcher(written).MatchString):
		e.named[written] = true
		return written, nil
	case strings.Contains(name, star):
		return name, nil
	}
	return name, fmt.Errorf("no such folder: %s; and no stored run is known by the name %s", name, written)
}

// isThere says whether a path, or what fits a pattern of paths, is there.
func (e *expansion) isThere(path string) bool {
	if !strings.Contains(path, star) {
		_, err := os.Stat(path)
		return err == nil || os.IsPermission(err)
	}
	found, err := e.folders(path)
	return err != nil || len(found) > 0
}
