package mapping_test

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"github.com/tensortap/tensortap/analysis/judge"
	"github.com/tensortap/tensortap/analysis/mapping"
	"github.com/tensortap/tensortap/analysis/pair"
	"github.com/tensortap/tensortap/analysis/rows"
	"github.com/tensortap/tensortap/analysis/rows/folders"
	"github.com/tensortap/tensortap/internal/dev/recorded"
	"github.com/tensortap/tensortap/schemas"
)

// comparison is what came of two recorded runs, in short.
type comparison struct {
	first       string // where they first differ; empty where nowhere
	counts      map[judge.Class]int
	differing   int
	onlyProblem []string
	onlyBench   []string
	pairs       map[string]string // names of ops
	definitions *rows.Definitions
	unmatched   []mapping.Line
}

// twice is the recordings of one model that was written twice.
func twice(tb testing.TB, names ...string) *folders.Source {
	tb.Helper()
	dir := tb.TempDir()
	if err := recorded.Extract("testdata/twice.tar.gz", dir); err != nil {
		tb.Fatal(err)
	}
	var list []folders.Folder
	for _, name := range names {
		list = append(list, folders.Folder{Name: name, Path: filepath.Join(dir, name)})
	}
	source, err := folders.Open(tb.Context(), list, nil)
	if err != nil {
		tb.Fatal(err)
	}
	return source
}

func parse(tb testing.TB, text string) *mapping.Map {
	tb.Helper()
	m, err := mapping.Parse("map.yaml", []byte(text))
	if err != nil {
		tb.Fatal(err)
	}
	return m
}

// compare judges two runs of a source, looked at through a map unless it is nil.
func compare(tb testing.TB, of rows.Source, m *mapping.Map, problemName, benchName string) comparison {
	tb.Helper()
	c := comparison{counts: map[judge.Class]int{}, pairs: map[string]string{}}
	source := of
	if m != nil {
		mapped := mapping.NewSource(of, m, problemName, []string{benchName})
		defer func() { c.unmatched = mapped.Unmatched() }()
		source = mapped
	}
	problem, bench := run(tb, source, problemName), run(tb, source, benchName)
	c.definitions = source.Definitions()
	steps := pair.PairSteps(problem, bench, pair.PairRanks(problem, bench), 0)
	rules, err := judge.New(judge.DefaultConfig(), problem, bench, c.definitions)
	if err != nil {
		tb.Fatal(err)
	}
	aligner, err := pair.NewAligner(problem, bench, steps, c.definitions)
	if err != nil {
		tb.Fatal(err)
	}
	p, b := aligner.Samples()
	for at, t := range tensors(tb, source, problem, p) {
		aligner.SeeProblem(at, t)
	}
	for at, t := range tensors(tb, source, bench, b) {
		aligner.SeeBench(at, t)
	}
	planner := pair.NewPlanner(aligner)
	slices.SortFunc(steps, func(a, b pair.Step) int { return cmp.Compare(a.Step, b.Step) })
	for _, step := range steps {
		at := rows.Place{Rank: step.Rank, Step: step.Step}
		left, right := tensors(tb, source, problem, []rows.Place{at})[at], tensors(tb, source, bench, []rows.Place{at})[at]
		for _, match := range planner.Plan(step, left, right).Matches(left, right) {
			c.judge(rules, step, match, left, right)
		}
	}
	if m != nil {
		c.unmatched = source.(*mapping.Source).Unmatched()
	}
	return c
}

func run(tb testing.TB, source rows.Source, name string) *rows.Run {
	tb.Helper()
	run, err := source.Run(tb.Context(), name)
	if err != nil {
		tb.Fatal(err)
	}
	return run
}

func tensors(tb testing.TB, source rows.Source, run *rows.Run, places []rows.Place) map[rows.Place]*rows.Tensors {
	tb.Helper()
	found, err := source.Tensors(tb.Context(), run, places)
	if err != nil {
		tb.Fatal(err)
	}
	return found
}

func (c *comparison) judge(rules *judge.Rules, step pair.Step, match pair.Match, left, right *rows.Tensors) {
	p := judge.Pair{Rank: step.Rank, Step: step.Step, BenchRank: step.BenchRank, BenchStep: step.BenchStep}
	if match.Problem >= 0 {
		p.InProblem, p.Problem = true, left.At(int(match.Problem))
	}
	if match.Bench >= 0 {
		p.InBench, p.Bench = true, right.At(int(match.Bench))
	}
	v := rules.Judge(&p, judge.Setting{CommonStep: true}, nil)
	c.counts[v.Class]++
	switch {
	case p.Paired():
		c.pairs[c.op(&p.Problem)] = c.op(&p.Bench)
	case p.InProblem:
		c.onlyProblem = append(c.onlyProblem, c.op(&p.Problem))
	default:
		c.onlyBench = append(c.onlyBench, c.op(&p.Bench))
	}
	if !v.Differs {
		return
	}
	c.differing++
	if c.first == "" {
		site := c.definitions.Sites[p.Own().SiteID]
		c.first = fmt.Sprintf("step %d %s %s %s: %v, in %s", step.Step, c.definitions.Ops[site.OpID].Name, site.Role, site.Path, v.Class, c.parent(step.ProblemProgram, site.OpID))
	}
}

func (c *comparison) op(o *rows.Observation) string {
	site := c.definitions.Sites[o.SiteID]
	if op := c.definitions.Ops[site.OpID]; op != nil {
		return op.Name
	}
	return schemas.FormatID(o.SiteID)
}

// parent is the name of the module that an op is in.
func (c *comparison) parent(program, op uint64) string {
	for _, row := range c.definitions.Programs[program] {
		if parent := c.definitions.Ops[row.ParentOpID]; row.OpID == op && parent != nil {
			return parent.Name
		}
	}
	return ""
}
