package system

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/tensortap/tensortap/analysis/compare"
	"github.com/tensortap/tensortap/analysis/judge"
	"github.com/tensortap/tensortap/analysis/report"
	"github.com/tensortap/tensortap/analysis/rows"
	"github.com/tensortap/tensortap/internal/payload"
	"github.com/tensortap/tensortap/internal/steps"
	"github.com/tensortap/tensortap/schemas"
)

// PayloadRequest says which raw tensors to compare.
type PayloadRequest struct {
	Problem, Bench string    // names of stored runs
	Folders        [2]string // the dumps that they were published from, problem and bench
	Rank           int64     // of the problem; -1 for all
	Steps          steps.Set
	StepOffset     int64 // what to add to a step of the problem for that of the bench
	// Progress is told how many pairs are compared. It may be nil; calls may overlap.
	Progress func(done, all int64)
}

// PayloadResult is what came of it.
type PayloadResult struct {
	Pairs      int // of raw tensors that both runs kept
	Unreadable int // of those, with a file that is missing or is no tensor
	Unlike     int // of those, that were read and not compared: shapes, or places that are not finite, differ
	Problems   []string
}

// payloadReaders is how many pairs are read at a time.
const payloadReaders = 2

// mostPayloadProblems is how many of them are told; each is stored with its pair.
const mostPayloadProblems = 20

// ComparePayloads compares the raw tensors of two stored runs, element by
// element, and returns when the database holds how far they are apart
// (tap.payload_errors). A tensor that cannot be read is a row that says why,
// and no error. Comparing the same files again changes nothing.
func (c *Client) ComparePayloads(ctx context.Context, r PayloadRequest) (PayloadResult, error) {
	raw, err := compareKept(ctx, c.source(), r)
	if err != nil {
		return raw.result, err
	}
	if err := c.publishRaw(ctx, raw); err != nil {
		return raw.result, fmt.Errorf("compare the raw tensors of %s and %s: %w", r.Problem, r.Bench, err)
	}
	return raw.result, c.WaitStored(ctx)
}

// keepingSource is a source that knows which raw tensors were kept.
type keepingSource interface {
	rows.Source
	keeper
}

// compareKept compares the raw tensors of two runs of a source; of what is not asked for in its own right, there may be none.
func compareKept(ctx context.Context, source keepingSource, r PayloadRequest) (*rawTensors, error) {
	raw, err := rawOf(r.Folders)
	if err != nil {
		return &rawTensors{}, fmt.Errorf("compare the raw tensors of %s and %s: %w", r.Problem, r.Bench, err)
	}
	raw.progress = r.Progress
	request := compare.DefaultRequest()
	request.Problem, request.Benches = r.Problem, []string{r.Bench}
	request.Rank, request.Steps, request.StepOffset = r.Rank, r.Steps, r.StepOffset
	job, err := compare.Open(ctx, source, request)
	if err != nil {
		return raw, err
	}
	if err := raw.compare(ctx, source, job); err != nil {
		return raw, fmt.Errorf("compare the raw tensors of %s and %s: %w", r.Problem, r.Bench, err)
	}
	return raw, nil
}

// compareRaw compares the raw tensors of a comparison. That there are none is an error; what cannot be read is a warning.
func compareRaw(ctx context.Context, folders [2]string, kept keeper, job *compare.Job, comparison *report.Comparison) (*rawTensors, error) {
	if len(job.Merges()) > 0 {
		return nil, errors.New("compare raw tensors: the runs have tensor-parallel groups of different sizes, and parts cannot be compared element by element; leave out --payload")
	}
	raw, err := rawOf(folders)
	if err == nil {
		err = raw.compare(ctx, kept, job)
	}
	if err != nil {
		return nil, fmt.Errorf("compare the raw tensors of %s and %s: %w", comparison.Problem, comparison.Bench(), err)
	}
	if raw.result.Pairs == 0 {
		return nil, errors.New("compare raw tensors: the two runs have none in common; both must be dumps with tensors in them: of msProbe with task tensor, or of SGLang's dumper; or recorded with tensortap run --task tensor, or captured with tensortap capture --payload, in the same steps")
	}
	comparison.Raw = report.RawTensors{Compared: raw.result.Pairs - raw.result.Unreadable, Unreadable: raw.result.Unreadable}
	if raw.result.Unreadable > 0 {
		comparison.Raw.First = raw.result.Problems[0]
	}
	comparison.Warnings = append(comparison.Warnings, raw.result.Problems...)
	comparison.WarningCount += raw.result.Unreadable
	return raw, nil
}

// rawTensors are those of two runs, which are compared element by element.
type rawTensors struct {
	kept     [2]keptFolder
	progress func(done, all int64) // may be nil

	runs   [2]uint64 // their ids
	pairs  []compare.PayloadPair
	rows   []schemas.PayloadErrorRow
	done   atomic.Int64
	result PayloadResult
}

// rawOf are those of which the files lie in the folders of problem and bench.
func rawOf(roots [2]string) (*rawTensors, error) {
	raw := &rawTensors{}
	for i, root := range roots {
		var err error
		if raw.kept[i], err = findKept(root); err != nil {
			return nil, err
		}
	}
	return raw, nil
}

// keeper knows which raw tensors of a run were kept: folders, and the database.
type keeper interface {
	Payloads(ctx context.Context, run *rows.Run) ([]schemas.PayloadRow, error)
}

// compare reads the raw tensors that stand beside each other in a comparison, and fills in one row for each pair.
func (r *rawTensors) compare(ctx context.Context, kept keeper, job *compare.Job) error {
	problem, bench := job.Runs()
	r.runs = [2]uint64{problem.ID, bench.ID}
	ofProblem, err := kept.Payloads(ctx, problem)
	if err != nil {
		return err
	}
	ofBench, err := kept.Payloads(ctx, bench)
	if err != nil {
		return err
	}
	if r.pairs, err = job.PayloadPairs(ctx, ofProblem, ofBench); err != nil {
		return err
	}
	if err := r.measureAll(ctx); err != nil {
		return err
	}
	r.count()
	return nil
}

func (r *rawTensors) measureAll(ctx context.Context) error {
	r.rows = make([]schemas.PayloadErrorRow, len(r.pairs))
	group, readCtx := errgroup.WithContext(ctx)
	group.SetLimit(payloadReaders)
	for i := range r.pairs {
		if readCtx.Err() != nil {
			break
		}
		group.Go(func() error {
			r.rows[i] = r.row(readCtx, r.pairs[i])
			r.tell()
			return readCtx.Err()
		})
	}
	return group.Wait()
}

func (r *rawTensors) tell() {
	done := r.done.Add(1)
	if r.progress != nil {
		r.progress(done, int64(len(r.pairs)))
	}
}

func (r *rawTensors) count() {
	r.result.Pairs = len(r.rows)
	for i := range r.rows {
		switch row := &r.rows[i]; {
		case payload.Has(row.Message, unreadable):
			r.result.Unreadable++
			r.note(row)
		case row.RelativeL2 == nil && row.SameBits == 0:
			r.result.Unlike++
		}
	}
}

func (r *rawTensors) note(row *schemas.PayloadErrorRow) {
	if len(r.result.Problems) < mostPayloadProblems {
		r.result.Problems = append(r.result.Problems, fmt.Sprintf("step %d rank %d: %s", row.Step, row.Rank, row.Message))
	}
}

// said adds what each pair said to what is known of others.
func (r *rawTensors) said(known map[compare.PayloadPlace]judge.Payload) {
	for i := range r.rows {
		row := &r.rows[i]
		said := judge.Payload{SameBits: row.SameBits == 1, Error: math.NaN()}
		if row.RelativeL2 != nil {
			said.Error = *row.RelativeL2
		}
		known[r.pairs[i].PayloadPlace] = said
	}
}
