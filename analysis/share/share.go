// Package share makes one file of a comparison, which a browser opens without a server: the page, and in it the answers
// that it asks for.
package share

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"time"

	"github.com/tensortap/tensortap/analysis/compare"
	"github.com/tensortap/tensortap/analysis/judge"
	"github.com/tensortap/tensortap/analysis/pair"
	"github.com/tensortap/tensortap/analysis/report"
	"github.com/tensortap/tensortap/analysis/rows"
)

// mark is where in the page the answers go.
const mark = "<!--answers-->"

// Limits of what a file holds. Bytes are compressed.
const (
	mostPlaces    = 64
	sequenceBytes = 2 << 20 // after which no further sequence is added
	detailBytes   = 3 << 20 // after which no further op is explained
)

// File is the page that a comparison is written into.
type File struct {
	Page    []byte // HTML that loads nothing, with the mark in it once
	Version string // of this program
	Made    time.Time
}

// Comparison is what a file shows.
type Comparison struct {
	Job    *compare.Job
	Answer *compare.Answer
	Said   report.Object
}

// index says where each answer is. Its fields are those of web/src/share/inside.ts.
type index struct {
	Version   string         `json:"version"`
	MadeNs    int64          `json:"made_ns"`
	Problem   string         `json:"problem"`
	Benches   []string       `json:"benches"`
	Gaps      []string       `json:"gaps"`
	Answers   map[string]int `json:"answers"`   // part by path
	Sequences []placed       `json:"sequences"` // the one that is shown first comes first
	Explained int            `json:"explained"` // part that says in which part each op is explained
}

// placed is the part with the ops of a step of a rank.
type placed struct {
	Rank           uint32 `json:"rank"`
	Step           uint32 `json:"step"`
	DifferingCount uint64 `json:"differing_count"`
	Part           int    `json:"part"`
}

// Write writes the file. Of a large comparison it holds the ops of the steps that differ first, and the tensors of the ops
// that differ first, within the limits.
func (f File) Write(ctx context.Context, to io.Writer, c Comparison) error {
	before, after, found := bytes.Cut(f.Page, []byte(mark))
	if !found {
		return errors.New("the page has no place for answers: make web builds it")
	}
	w := writer{comparison: c, index: index{
		Version: f.Version, MadeNs: f.Made.UnixNano(), Problem: c.Said.Problem, Benches: c.Said.Benches, Gaps: gaps(c.Said.Incomplete), Answers: map[string]int{},
		Sequences: []placed{},
	}}
	if err := w.answer(ctx); err != nil {
		return err
	}
	return w.writeTo(to, before, after)
}

func gaps(incomplete string) []string {
	if incomplete == "" {
		return []string{}
	}
	return []string{incomplete}
}

// writer gathers the answers.
type writer struct {
	comparison Comparison
	index      index
	parts      parts
	elsewhere  elsewhere
}

func (w *writer) answer(ctx context.Context) error {
	if err := w.addJSON("compare", w.comparison.Said); err != nil {
		return err
	}
	places, err := w.sequences(ctx)
	if err != nil {
		return err
	}
	listed := slices.Clone(w.index.Sequences)
	slices.SortFunc(listed, func(a, b placed) int { return cmp.Or(cmp.Compare(a.Step, b.Step), cmp.Compare(a.Rank, b.Rank)) })
	if err := w.addJSON("reports/judged_steps", map[string]any{"rows": listed}); err != nil {
		return err
	}
	return w.explain(ctx, places)
}

func (w *writer) addJSON(path string, answer any) error {
	text, err := json.Marshal(answer)
	if err != nil {
		return err
	}
	w.index.Answers[path], err = w.parts.add(text)
	return err
}

// sequences adds the ops of the places, and returns the places that it added.
func (w *writer) sequences(ctx context.Context) ([]pair.Step, error) {
	w.elsewhere = elsewhere{}
	var added []pair.Step
	for _, at := range w.places() {
		if len(added) == mostPlaces || len(added) > 0 && w.parts.size > sequenceBytes {
			break
		}
		has, err := w.sequence(ctx, at)
		if err != nil {
			return nil, err
		}
		if has {
			added = append(added, at)
		}
	}
	return added, nil
}

// places are those at which both runs have a program, that differ first.
func (w *writer) places() []pair.Step {
	differing := map[rows.Place]uint64{}
	for i := range w.comparison.Answer.Summary {
		s := &w.comparison.Answer.Summary[i]
		differing[rows.Place{Rank: s.Rank, Step: s.Step}] = s.DifferingCount
	}
	var places []pair.Step
	for _, at := range w.comparison.Job.Steps() {
		if at.InProblem && at.InBench && at.ProblemProgram != 0 && at.BenchProgram != 0 {
			places = append(places, at)
		}
	}
	same := func(at pair.Step) int {
		if differing[rows.Place{Rank: at.Rank, Step: at.Step}] == 0 {
			return 1
		}
		return 0
	}
	slices.SortStableFunc(places, func(a, b pair.Step) int { return cmp.Compare(same(a), same(b)) })
	return places
}

func (w *writer) sequence(ctx context.Context, at pair.Step) (bool, error) {
	ops, differing, err := w.judged(ctx, at)
	if err != nil || len(ops) == 0 {
		return false, err
	}
	w.elsewhere.add(at, ops)
	var table bytes.Buffer
	if err := report.WriteRecord(&table, report.Style{Format: report.Arrow}, sequenceTable(at, ops)); err != nil {
		return false, err
	}
	part, err := w.parts.add(table.Bytes())
	w.index.Sequences = append(w.index.Sequences, placed{Rank: at.Rank, Step: at.Step, DifferingCount: differing, Part: part})
	return true, err
}

// judged are the ops of a place with their pairs, and how many of these differ.
func (w *writer) judged(ctx context.Context, at pair.Step) (ops []op, differing uint64, err error) {
	job := w.comparison.Job
	ops = opsOf(job.Sequence(at))
	err = job.Judge(ctx, []pair.Step{at}, func(_ pair.Step, judged []judge.Judged) error {
		differing = assign(ops, judged, job.Definitions())
		return nil
	})
	return ops, differing, err
}
