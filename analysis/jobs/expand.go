package jobs

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// star stands for any text without a slash.
const star = "*"

// Pair is one comparison: a job without stars.
type Pair struct {
	Job
	Fault error // why it cannot be compared, such as a pattern that nothing fits; nil where it can
}

// Expand makes pairs of jobs. Stars in the problem make a pair of each run or folder that fits; those in bench and name
// then stand for the same text. In the bench of a problem without stars, they make a bench of each that fits. Stars are
// looked for among these stored runs, or, where the pattern has a slash, by the given function; Folders is one. A path at
// which nothing is, is the name of a run where one has it. A
// pattern that nothing fits is a pair with a fault, so that the others are compared all the same.
func Expand(jobs []Job, runs []string, folders func(pattern string) ([]string, error)) []Pair {
	e := expansion{runs: runs, folders: folders, used: map[string]int{}, named: map[string]bool{}}
	var pairs []Pair
	for _, job := range jobs {
		pairs = append(pairs, e.expand(job)...)
	}
	for i := range pairs {
		pairs[i].Name = e.unique(pairs[i].Name)
	}
	return pairs
}

// Folders are the folders that fit a pattern, in order.
func Folders(pattern string) ([]string, error) {
	escaped := strings.NewReplacer(`\`, `\\`, "?", `\?`, "[", `\[`).Replace(pattern)
	paths, err := filepath.Glob(escaped)
	if err != nil {
		return nil, fmt.Errorf("find folders %s: %w", pattern, err)
	}
	return slices.DeleteFunc(paths, func(path string) bool {
		info, err := os.Stat(path)
		return err != nil || !info.IsDir()
	}), nil
}

type expansion struct {
	runs    []string
	folders func(string) ([]string, error)
	used    map[string]int  // names of pairs
	named   map[string]bool // names and patterns of runs that are written as paths
}

func (e *expansion) expand(job Job) []Pair {
	job, err := e.read(job)
	if err != nil {
		return []Pair{{Job: job, Fault: err}}
	}
	if !strings.Contains(job.Problem, star) {
		return []Pair{e.withBenches(job)}
	}
	problems, err := e.find(job.Problem)
	if err != nil {
		return []Pair{{Job: job, Fault: err}}
	}
	pairs := make([]Pair, len(problems))
	for i, problem := range problems {
		pairs[i] = Pair{Job: job.filled(problem)}
	}
	return pairs
}

func (e *expansion) withBenches(job Job) Pair {
	var benches []string
	var faults []error
	for _, bench := range job.Benches {
		found, err := []string{bench}, error(nil)
		if strings.Contains(bench, star) {
			found, err = e.find(bench)
		}
		benches, faults = append(benches, found...), append(faults, err)
	}
	job.Benches = benches
	return Pair{Job: job, Fault: errors.Join(faults...)}
}

// find are the runs or folders that fit a pattern, at least one.
func (e *expansion) find(pattern string) (found []string, err error) {
	if isPath(pattern) && !e.named[pattern] {
		found, err = e.folders(pattern)
	} else {
		fits := matcher(pattern)
		for _, run := range e.runs {
			if fits.MatchString(run) {
				found = append(found, run)
			}
		}
		slices.Sort(found)
	}
	if err == nil && len(found) == 0 {
		err = fmt.Errorf("%s fits %s", noneOf(pattern), pattern)
	}
	return found, err
}

func noneOf(pattern string) string {
	if isPath(pattern) {
		return "no folder"
	}
	return "no stored run"
}

// matcher has a group for each star.
func matcher(pattern string) *regexp.Regexp {
	parts := strings.Split(pattern, star)
	for i, part := range parts {
		parts[i] = regexp.QuoteMeta(part)
	}
	return regexp.MustCompile(`\A` + strings.Join(parts, `([^/]*)`) + `\z`)
}

// filled is the job of one problem that fits its pattern.
func (j Job) filled(problem string) Job {
	var texts []string
	if groups := matcher(j.Problem).FindStringSubmatch(problem); groups != nil {
		texts = groups[1:]
	}
	j.Problem = problem
	if strings.Contains(j.Name, star) {
		j.Name = fill(j.Name, texts)
	} else {
		j.Name += " " + strings.Join(texts, " ")
	}
	benches := make([]string, len(j.Benches))
	for i, bench := range j.Benches {
		benches[i] = fill(bench, texts)
	}
	j.Benches = benches
	return j
}

// fill puts the texts in place of the stars, one after the other; further stars stay.
func fill(pattern string, texts []string) string {
	var filled strings.Builder
	for i, part := range strings.Split(pattern, star) {
		switch {
		case i == 0:
		case i <= len(texts):
			filled.WriteString(texts[i-1])
		default:
			filled.WriteString(star)
		}
		filled.WriteString(part)
	}
	return filled.String()
}

// unique numbers a name that was used already.
func (e *expansion) unique(name string) string {
	e.used[name]++
	if n := e.used[name]; n > 1 {
		return e.unique(name + " (" + strconv.Itoa(n) + ")")
	}
	return name
}
