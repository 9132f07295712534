// Package msprobecompare holds two runs against each other as msProbe's own
// compare does: by its pairing, its errors and its rules, and so also what they
// overlook (docs/msprobe-parity.md). Places are read window by window and rows
// handed on one by one, so that memory does not grow with the run.
package msprobecompare

import (
	"context"
	"fmt"

	"golang.org/x/sync/errgroup"

	"github.com/tensortap/tensortap/analysis/compare"
	"github.com/tensortap/tensortap/analysis/msprobe/internal/arguments"
	"github.com/tensortap/tensortap/analysis/rows"
	"github.com/tensortap/tensortap/internal/steps"
	"github.com/tensortap/tensortap/schemas"
)

// Request says which runs to compare, and where. Begin with DefaultRequest.
type Request struct {
	Problem, Bench string
	Rank           int64 // of the problem; -1 for all
	Steps          steps.Set
	StepOffset     int64                                             // what to add to a step of the problem for that of the bench
	Raw            map[compare.PayloadPlace]*schemas.PayloadErrorRow // how far raw tensors are apart that were compared
}

// DefaultRequest compares everything.
func DefaultRequest() Request { return Request{Rank: -1, Steps: steps.All()} }

// Source gives what was recorded of runs, and where their raw tensors lie.
type Source interface {
	rows.Source
	Payloads(ctx context.Context, run *rows.Run) ([]schemas.PayloadRow, error)
}

// Mode is what msProbe compares, which follows from what was recorded.
type Mode string

// The modes, as a column of the report has them.
const (
	Statistics Mode = "statistics"
	MD5        Mode = "md5"
	Tensor     Mode = "tensor"
)

// Job is a comparison that is under way. It is not safe for use by several goroutines.
type Job struct {
	Mode      Mode
	HasStacks bool // whether any call stack is known of the problem

	source  Source
	raw     map[compare.PayloadPlace]*schemas.PayloadErrorRow
	problem side
	bench   side
	places  []place
	frames  frames
}

// side is one run.
type side struct {
	run    *rows.Run
	files  files
	lister *arguments.Lister
}

// Open reads what is known of both runs, and pairs their ranks and steps.
func Open(ctx context.Context, source Source, r Request) (*Job, error) {
	problem, err := source.Run(ctx, r.Problem)
	if err != nil {
		return nil, fmt.Errorf("read run %s: %w", r.Problem, err)
	}
	bench, err := source.Run(ctx, r.Bench)
	if err != nil {
		return nil, fmt.Errorf("read run %s: %w", r.Bench, err)
	}
	return OpenRuns(ctx, source, problem, bench, r)
}

// OpenRuns is Open for runs of the source that are known already.
func OpenRuns(ctx context.Context, source Source, problem, bench *rows.Run, r Request) (*Job, error) {
	definitions := source.Definitions()
	j := &Job{
		Mode: modeOf(problem, bench), HasStacks: len(problem.Stacks) > 0, source: source, raw: r.Raw,
		places: pairPlaces(problem, bench, r), frames: frames{definitions: definitions, run: problem},
	}
	var err error
	if j.problem, err = readSide(ctx, source, problem); err != nil {
		return nil, err
	}
	j.bench, err = readSide(ctx, source, bench)
	return j, err
}

// At is the job for other ranks and steps of the same runs, whose tensors that source gives. Both share what they know of the
// runs: one is used after the other.
func (j *Job) At(source Source, r Request) *Job {
	at := *j
	at.source, at.raw, at.places = source, r.Raw, pairPlaces(j.problem.run, j.bench.run, r)
	return &at
}

func readSide(ctx context.Context, source Source, run *rows.Run) (side, error) {
	kept, err := source.Payloads(ctx, run)
	if err != nil {
		return side{}, fmt.Errorf("read which raw tensors run %s kept: %w", run.Name, err)
	}
	f := filesOf(kept)
	return side{run: run, files: f, lister: arguments.NewLister(source.Definitions(), f.keep)}, nil
}

// modeOf is statistics unless both runs recorded raw tensors, or both digests.
func modeOf(runs ...*rows.Run) Mode {
	tensors, digests, described := true, true, false
	for _, run := range runs {
		if run.Described.RunID == 0 {
			continue
		}
		task := run.Described.Task
		described = true
		tensors = tensors && task == "tensor"
		digests = digests && (task == "md5" || task == "xor")
	}
	switch {
	case described && tensors:
		return Tensor
	case described && digests:
		return MD5
	}
	return Statistics
}

// Each hands on the rows of the problem that both runs have the place of, by rank, step and their order there. The
// visitor may keep a copy of the row. While a window is visited, the next one is read.
func (j *Job) Each(ctx context.Context, visit func(*Row) error) error {
	group, readCtx := errgroup.WithContext(ctx)
	read := make(chan window)
	group.Go(func() error {
		defer close(read)
		return j.read(readCtx, read)
	})
	group.Go(func() error {
		for w := range read {
			for _, at := range w.places {
				if err := j.judgePlace(at, &w, visit); err != nil {
					return err
				}
			}
		}
		return context.Cause(readCtx)
	})
	return group.Wait()
}

// window is some places with the tensors of both runs.
type window struct {
	places         []place
	problem, bench map[rows.Place]*rows.Tensors
}

func (j *Job) read(ctx context.Context, to chan<- window) error {
	problem, bench := j.problem.run.Weights(), j.bench.run.Weights()
	weigh := func(p place) uint64 { return problem[p.at()] + bench[p.partner()] }
	for _, part := range rows.Windows(j.places, weigh) {
		w, err := j.readWindow(ctx, part)
		if err != nil {
			return err
		}
		select {
		case to <- w:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

func (j *Job) readWindow(ctx context.Context, of []place) (w window, err error) {
	var problem, bench []rows.Place
	for _, p := range of {
		problem, bench = append(problem, p.at()), append(bench, p.partner())
	}
	w.places = of
	group, readCtx := errgroup.WithContext(ctx)
	group.Go(func() (err error) {
		w.problem, err = j.source.Tensors(readCtx, j.problem.run, problem)
		return err
	})
	group.Go(func() (err error) {
		w.bench, err = j.source.Tensors(readCtx, j.bench.run, bench)
		return err
	})
	return w, group.Wait()
}
