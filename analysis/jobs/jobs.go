// Package jobs reads files of comparisons that are judged side by side, runs
// them, and writes what came of all as text, JSON, JUnit XML or Markdown. How
// one pair is compared is the caller's business. It is pure, but for reading
// the file and finding folders.
package jobs

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/tensortap/tensortap/internal/steps"
	"github.com/tensortap/tensortap/internal/strictyaml"
)

// Job is one comparison of a file, or several where its problem is a pattern.
type Job struct {
	Name       string
	Problem    string   // a folder, if it has a slash, or the name of a stored run; * stands for any text without a slash
	Benches    []string // likewise
	Tolerance  string   // a number, or a file of rules; empty for one by dtype and depth
	Steps      steps.Set
	Rank       int64 // of the problem; -1 for all
	StepOffset int64 // what to add to a step of the problem for that of the bench
	Strict     bool  // what exists on one side only makes the runs differ
	Map        string
	Line       int  // of the file
	Stored     bool // of a pair: all sides are names of stored runs, whatever they are written like

	written map[string]string // problem and benches as the file has them, by their paths from where the program runs
}

// Key is a key that a job may have.
type Key struct {
	Name, Type, Default, Meaning string
	read                         func(*Job, strictyaml.Node) error
}

// Schema are the keys of a job. The first three are needed.
func Schema() []Key {
	return []Key{
		{"name", "text", "needed", "its name in the results", text(func(j *Job) *string { return &j.Name })},
		{"problem", "text", "needed", "the run under suspicion: a folder, if it has a slash and is there, or a stored run", text(func(j *Job) *string { return &j.Problem })},
		{"bench", "text or list", "needed", "the run or runs to compare with; with three or more, their spread is the tolerance", readBench},
		{"tolerance", "number or file", "by dtype and depth", "greatest relative error that is tolerated, or a file of rules", readTolerance},
		{"steps", "text", "all", "steps of the problem, as `0,3-5,10-100/10`", readSteps},
		{"rank", "number", "all", "only this rank of the problem", readRank},
		{"step_offset", "number", "0", "added to a step of the problem for that of the bench", readOffset},
		{"strict", "true or false", "false", "ops that exist on one side only make the runs differ", readStrict},
		{"map", "file", "none", "a [mapping file](mapping.md), where the two runs name or fuse modules differently", text(func(j *Job) *string { return &j.Map })},
	}
}

const neededKeys = 3

// Read reads the file of that path. Folders and files named in it are found from where it lies.
func Read(path string) ([]Job, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read jobs: %w", err)
	}
	return Parse(path, content)
}

// Parse reads the content of the file of that path.
func Parse(path string, content []byte) ([]Job, error) {
	root, err := strictyaml.Parse(path, content)
	if err != nil {
		return nil, err
	}
	keys, err := root.Keys("jobs")
	if err != nil {
		return nil, err
	}
	list, ok := keys["jobs"]
	if !ok {
		return nil, root.Errorf("key \"jobs\" is missing")
	}
	items, err := list.List()
	if err != nil {
		return nil, err
	}
	if len(items) == 0 {
		return nil, list.Errorf("want at least one job")
	}
	return parseAll(filepath.Dir(path), items)
}

func parseAll(folder string, items []strictyaml.Node) ([]Job, error) {
	all := make([]Job, len(items))
	lines := make(map[string]int, len(items))
	for i, item := range items {
		job, err := parse(item)
		if err != nil {
			return nil, err
		}
		if line, twice := lines[job.Name]; twice {
			return nil, item.Errorf("the job of line %d is named %q, too", line, job.Name)
		}
		lines[job.Name] = job.Line
		all[i] = job.from(folder)
	}
	return all, nil
}

func parse(item strictyaml.Node) (Job, error) {
	job := Job{Rank: -1, Line: item.Line()}
	schema := Schema()
	names := make([]string, len(schema))
	for i, key := range schema {
		names[i] = key.Name
	}
	values, err := item.Keys(names...)
	if err != nil {
		return job, err
	}
	for i, key := range schema {
		value, ok := values[key.Name]
		switch {
		case ok:
			err = key.read(&job, value)
		case i < neededKeys:
			err = item.Errorf("key %q is missing", key.Name)
		}
		if err != nil {
			return job, err
		}
	}
	return job, job.starsFit(values["bench"])
}

// starsFit refuses a bench with more stars than its problem, unless the problem has none.
func (j Job) starsFit(bench strictyaml.Node) error {
	have := strings.Count(j.Problem, star)
	for _, pattern := range j.Benches {
		if n := strings.Count(pattern, star); have > 0 && n > have {
			return bench.Errorf("%q has %d stars and problem %q has %d: each stands for the text that the star of the problem at its place matched", pattern, n, j.Problem, have)
		}
	}
	return nil
}

// from is the job with paths as they are from where the program runs.
func (j Job) from(folder string) Job {
	j.written = map[string]string{}
	j.Problem = place(folder, j.Problem, j.written)
	benches := make([]string, len(j.Benches))
	for i, bench := range j.Benches {
		benches[i] = place(folder, bench, j.written)
	}
	j.Benches = benches
	if _, err := strconv.ParseFloat(j.Tolerance, 64); err != nil {
		j.Tolerance = file(folder, j.Tolerance)
	}
	j.Map = file(folder, j.Map)
	return j
}

// isPath says whether a problem or bench is written as a path, which it is, unless nothing is there and a run has that name.
func isPath(name string) bool {
	return strings.ContainsRune(name, filepath.Separator) || name == "." || name == ".."
}

// place is a path as it is from where the program runs, and notes how it is written.
func place(folder, name string, written map[string]string) string {
	if !isPath(name) {
		return name
	}
	path := file(folder, name)
	written[path] = name
	return path
}

// file keeps a slash, lest a folder be taken for a run.
func file(folder, name string) string {
	if name == "" || filepath.IsAbs(name) {
		return name
	}
	if joined := filepath.Join(folder, name); isPath(joined) {
		return joined
	}
	return "." + string(filepath.Separator) + filepath.Join(folder, name)
}

func text(field func(*Job) *string) func(*Job, strictyaml.Node) error {
	return func(j *Job, n strictyaml.Node) (err error) {
		*field(j), err = n.Text()
		return err
	}
}

func readBench(j *Job, n strictyaml.Node) (err error) {
	if j.Benches, err = n.Texts(); err == nil && len(j.Benches) == 0 {
		err = n.Errorf("want at least one bench")
	}
	return err
}

func readTolerance(j *Job, n strictyaml.Node) (err error) {
	if j.Tolerance, err = n.Text(); err != nil {
		return err
	}
	v, wrong := strconv.ParseFloat(j.Tolerance, 64)
	if wrong == nil && (math.IsNaN(v) || math.IsInf(v, 0) || v < 0) || wrong != nil && n.IsNumber() {
		return n.Errorf("tolerance %s: want a number from 0 on, or a file", j.Tolerance)
	}
	return nil
}

func readSteps(j *Job, n strictyaml.Node) error {
	written, err := n.Text()
	if err != nil {
		return err
	}
	if j.Steps, err = steps.Parse(written); err != nil {
		return n.Errorf("%v", err)
	}
	return nil
}

func readRank(j *Job, n strictyaml.Node) (err error) {
	j.Rank, err = n.Int(0, math.MaxUint32)
	return err
}

func readOffset(j *Job, n strictyaml.Node) (err error) {
	j.StepOffset, err = n.Int(-math.MaxUint32, math.MaxUint32)
	return err
}

func readStrict(j *Job, n strictyaml.Node) (err error) {
	j.Strict, err = n.Bool()
	return err
}
