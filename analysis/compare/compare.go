// Package compare compares two runs, or more: it reads their tensors window by window, pairs and
// judges them, and collects the results. Rows come from any source; the pure parts lie in pair,
// judge and result.
package compare

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/zeebo/xxh3"
	"golang.org/x/sync/errgroup"

	"github.com/tensortap/tensortap/analysis/judge"
	"github.com/tensortap/tensortap/analysis/mapping"
	"github.com/tensortap/tensortap/analysis/merged"
	"github.com/tensortap/tensortap/analysis/pair"
	"github.com/tensortap/tensortap/analysis/report"
	"github.com/tensortap/tensortap/analysis/result"
	"github.com/tensortap/tensortap/analysis/rows"
	"github.com/tensortap/tensortap/internal/steps"
	"github.com/tensortap/tensortap/schemas"
)

// Request says which runs to compare, and how. Begin with DefaultRequest.
type Request struct {
	Problem    string
	Benches    []string // the first is paired with; the spread of three or more is the tolerance
	Judge      judge.Config
	Rank       int64 // of the problem; -1 for all
	Steps      steps.Set
	StepOffset int64 // number to add to a step of the problem to get the step of the bench
	OnlySteps  bool  // without an offset, the only step of the problem pairs with the only step of the bench, whatever their numbers
	Keep       result.Options
	Payloads   map[PayloadPlace]judge.Payload // raw tensors that were compared, element by element
	Merge      bool                           // make one rank of each tensor-parallel group where the runs have groups of other sizes
	Map        *mapping.Map                   // pairs of modules of problem and bench; nil if modules pair by name
	Calibrate  string                         // another run of the bench's program, which says what tensors may differ by; empty for none
	ChooseMap  bool                           // without a map, take the one that ships for what the runs say they are
}

// DefaultRequest compares everything.
func DefaultRequest() Request {
	return Request{Judge: judge.DefaultConfig(), Rank: -1, Steps: steps.All(), Keep: result.DefaultOptions()}
}

// Answer is the result of a comparison.
type Answer struct {
	result.Result
	Problem     *rows.Run
	Benches     []*rows.Run
	Differences []result.RunDifference // other differences of the runs
	Warnings    []string               // faults that limit the comparison
	LeftOut     report.LeftOut
	StepOffset  int64          // number added to a step of the problem to get the step of the bench
	Merges      []merged.Merge // runs whose ranks were merged before they were judged
	Parts       []report.Part  // if the problem's were, whose part each origin is
	Mapped      *report.Mapped // what was compared under a map of two implementations; nil without one
	Calibrated  *report.Calibration
	Calibrating []*rows.Run // the run that calibrates as it was recorded, and what its merged ranks lack; none without one
}

// Run compares the runs of a source.
func Run(ctx context.Context, source rows.Source, r Request) (*Answer, error) {
	job, err := Open(ctx, source, r)
	if err != nil {
		return nil, err
	}
	return job.Run(ctx, Recalled{}, nil)
}

// Run judges all steps but those that are recalled, and returns the result. Of recalled ones it judges those again of which
// reports show more than is stored. Each, if it is not nil, gets the verdicts of a step that was judged once they are
// collected; it keeps none of them, and may be called by several goroutines at a time.
func (j *Job) Run(ctx context.Context, recalled Recalled, each func(at pair.Step, placed *result.Placed) error) (*Answer, error) {
	collected := j.Collector()
	if err := j.collect(ctx, collected, recalled.others(j.steps), each); err != nil {
		return nil, err
	}
	if err := j.collect(ctx, collected, recalled.again(collected), each); err != nil {
		return nil, err
	}
	if err := recalled.collect(ctx, collected); err != nil {
		return nil, err
	}
	finishing, err := j.finishing(ctx, collected)
	if err != nil {
		return nil, err
	}
	answer := &Answer{
		Result: collected.Finish(finishing), Problem: j.recorded[0], Benches: j.recorded[1:], Merges: j.Merges(),
		Differences: Differences(j.recorded[0], j.recorded[1]), Warnings: j.warnings, StepOffset: j.request.StepOffset,
		LeftOut: j.leftOut,
	}
	answer.Mapped, answer.Calibrated, answer.Calibrating = j.census.mapped(j.rules), j.calibrated, j.calibrating
	answer.Parts, err = j.parts(ctx, answer.Origins)
	return answer, err
}

func (j *Job) collect(ctx context.Context, collected *result.Collector, steps []pair.Step, each func(at pair.Step, placed *result.Placed) error) error {
	return j.Judge(ctx, steps, func(at pair.Step, judged []judge.Judged) error {
		j.census.count(judged)
		placed := collected.Count(at, judged)
		collected.Add(placed)
		if each == nil {
			return nil
		}
		return each(at, placed)
	})
}

// Texts says of each row that differs whether it is an argument that is text, such as the id of a request, while rows
// that are not are there, too.
func (a *Answer) Texts() []bool {
	texts, others := make([]bool, len(a.Divergence)), false
	for i := range a.Divergence {
		d := &a.Divergence[i]
		texts[i] = d.Problem.Measured == 0 && d.ProblemLayout.Kind == "str"
		others = others || !texts[i]
	}
	if !others {
		clear(texts)
	}
	return texts
}

// Job is a comparison that is under way. It is not safe for use by several goroutines.
type Job struct {
	source   rows.Source
	mapped   *mapping.Source // the source, where there is a map; else nil
	merged   *merged.Source  // the source, where ranks are merged; else nil
	request  Request
	recorded []*rows.Run // problem and benches, before ranks are merged
	problem  *rows.Run
	benches  []*rows.Run
	ranks    []pair.Ranks
	steps    []pair.Step
	leftOut  report.LeftOut // steps that the problem, or the bench, left out for its budget or conditions; they are not among steps
	rules    *judge.Rules
	settings settings
	aligner  *pair.Aligner
	planner  *pair.Planner
	warnings []string
	tooMany  error
	census   *census // of pairs under a map of two implementations; nil without one

	calibrated  *report.Calibration // nil without one
	calibrating []*rows.Run
}

// Open reads the facts about the runs, pairs their ranks, steps and programs, and prepares the rules.
func Open(ctx context.Context, source rows.Source, r Request) (*Job, error) {
	if len(r.Benches) == 0 {
		return nil, errors.New("nothing to compare with: name a bench run")
	}
	j := &Job{source: source, request: r}
	if r.Map != nil {
		j.mapped = mapping.NewSource(source, r.Map, r.Problem, r.others())
		j.source = j.mapped
	}
	if err := j.readRuns(ctx); err != nil {
		return nil, err
	}
	if err := j.chooseMap(ctx); err != nil {
		return nil, err
	}
	if err := j.problem.CheckRank(r.Rank); err != nil {
		return nil, err
	}
	if r.OnlySteps && r.StepOffset == 0 {
		j.request.StepOffset = pair.OnlyStepsOffset(j.problem, j.bench())
	}
	if err := j.calibrate(ctx, &r.Judge); err != nil {
		return nil, err
	}
	if err := j.merge(ctx); err != nil {
		return nil, err
	}
	j.ranks = pair.PairRanks(j.problem, j.bench())
	j.steps = wanted(pair.PairSteps(j.problem, j.bench(), j.ranks, j.request.StepOffset), j.request)
	j.steps, j.leftOut = WithoutLeftOut(j.steps, j.problem, j.bench(), j.ranks, j.request.StepOffset)
	j.settings = newSettings(j.problem, j.bench(), j.ranks)
	var err error
	if r.Judge.Spread, err = Spread(ctx, j.source, j.benches); err != nil {
		return nil, err
	}
	if j.rules, err = judge.New(j.judgedBy(r.Judge), j.problem, j.bench(), j.source.Definitions()); err != nil {
		return nil, err
	}
	return j, j.alignPrograms(ctx)
}

// Collector collects the results of the steps of the job.
func (j *Job) Collector() *result.Collector {
	return result.New(j.keep(), j.problem, j.bench(), j.source.Definitions())
}

// At is the job for one step of the problem alone.
func (j *Job) At(step uint32) *Job {
	at := *j
	at.steps = slices.DeleteFunc(slices.Clone(j.steps), func(s pair.Step) bool { return s.Step != step })
	return &at
}

// Runs are the problem and the bench that it is paired with.
func (j *Job) Runs() (problem, bench *rows.Run) { return j.problem, j.benches[0] }

// Facts is a hash of all that verdicts rest on beside the tensors and the rules: programs tell layers, callers and the
// alignment, main dtypes and sources the tolerance. A run that goes on may change it.
func (j *Job) Facts() uint64 {
	var hasher xxh3.Hasher
	for _, run := range []*rows.Run{j.problem, j.bench()} {
		_, _ = hasher.WriteString(run.MainDtype + "\x1f" + run.Described.Source + "\x1f") // a hash never fails
		var programs []uint64
		for i := range run.Steps {
			programs = append(programs, run.Steps[i].ProgramID)
		}
		slices.Sort(programs)
		for _, id := range slices.Compact(programs) {
			_, _ = hasher.Write(binary.LittleEndian.AppendUint64(nil, id))
		}
	}
	return hasher.Sum64()
}

// Definitions are the definitions behind the ids of both runs.
func (j *Job) Definitions() *rows.Definitions { return j.source.Definitions() }

// Alignment is the alignment of the programs of a place; nil where they are one, or pair by the names of their ops.
func (j *Job) Alignment(at pair.Step) []schemas.AlignmentRow {
	return j.alignment(at.ProblemProgram, at.BenchProgram)
}

// Alignments are how the different programs that stand beside each other were aligned.
func (j *Job) Alignments() []*pair.Alignment { return j.aligner.Alignments() }

// TooManyPrograms is a pair.TooManyProgramsError where some programs were left to the names of their ops, else nil.
func (j *Job) TooManyPrograms() error { return j.tooMany }

// bench is the run that the problem is paired with.
func (j *Job) bench() *rows.Run { return j.benches[0] }

// Steps are the places of both runs that the comparison looks at, by step, then rank.
func (j *Job) Steps() []pair.Step { return j.steps }

func (j *Job) readRuns(ctx context.Context) error {
	names := append([]string{j.request.Problem}, j.request.Benches...)
	runs := make([]*rows.Run, len(names))
	group, readCtx := errgroup.WithContext(ctx)
	for i, name := range names {
		group.Go(func() (err error) {
			if runs[i], err = j.source.Run(readCtx, name); err != nil {
				return fmt.Errorf("read run %s: %w", name, err)
			}
			return nil
		})
	}
	err := group.Wait()
	j.problem, j.benches = runs[0], runs[1:]
	return err
}

// wanted are the steps that the request asks for. A step of the bench alone counts under its missing
// partner's number.
func wanted(all []pair.Step, r Request) []pair.Step {
	var some []pair.Step
	for _, s := range all {
		if (r.Rank < 0 || int64(s.Rank) == r.Rank) && r.Steps.Contains(int64(s.Step)) {
			some = append(some, s)
		}
	}
	return some
}

// keep are the request's options with facts from the rules.
func (j *Job) keep() result.Options {
	keep := j.request.Keep
	keep.Implementations = j.census != nil
	keep.Excused = func(site uint64) bool { return len(j.rules.Excused(site)) > 0 }
	return keep
}
