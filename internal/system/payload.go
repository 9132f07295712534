package system

import (
	"context"
	"fmt"
	"strconv"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/tensortap/tensortap/analysis/report"
	"github.com/tensortap/tensortap/internal/payload"
	"github.com/tensortap/tensortap/internal/steps"
	"github.com/tensortap/tensortap/producers/agent"
	"github.com/tensortap/tensortap/producers/dumps"
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
	job := payloadJob{client: c, request: r}
	if err := job.run(ctx); err != nil {
		return job.result, fmt.Errorf("compare the raw tensors of %s and %s: %w", r.Problem, r.Bench, err)
	}
	return job.result, nil
}

// payloadJob is one call of ComparePayloads.
type payloadJob struct {
	client  *Client
	request PayloadRequest
	pairs   []payloadPair
	folders [2]map[dumpPlace]string // of the dumps, problem and bench
	rows    []schemas.PayloadErrorRow
	done    atomic.Int64
	result  PayloadResult
}

// dumpPlace is one rank at one step.
type dumpPlace struct{ rank, step uint32 }

// payloadPair is two raw tensors.
type payloadPair struct {
	places    [2]dumpPlace
	sites     [2]uint64
	locations [2]string
}

func (j *payloadJob) run(ctx context.Context) error {
	for i, dir := range j.request.Folders {
		var err error
		if j.folders[i], err = dumpFolders(dir); err != nil {
			return err
		}
	}
	if err := j.find(ctx); err != nil {
		return err
	}
	if err := j.compare(ctx); err != nil {
		return err
	}
	j.count()
	if err := j.publish(ctx); err != nil {
		return err
	}
	return j.client.WaitStored(ctx)
}

// dumpFolders is where the dumps of every rank and step lie.
func dumpFolders(dir string) (map[dumpPlace]string, error) {
	if agent.KeepsPayloads(dir) {
		return map[dumpPlace]string{}, nil // a location says itself of which process it is
	}
	found, err := dumps.Find(dir)
	if err != nil {
		return nil, err
	}
	folders := map[dumpPlace]string{}
	for _, dump := range found.Dumps {
		folders[dumpPlace{dump.Rank, dump.Step}] = dump.Dir
	}
	return folders, nil
}

// payloadPairsQuery is in the order of the table's key.
const payloadPairsQuery = `SELECT
    rank,
    bench_rank,
    step,
    problem_site_id,
    bench_site_id,
    problem_location,
    bench_location
FROM tap.payload_pairs(problem = {problem:String}, bench = {bench:String}, rank = {rank:Int64},
    first_step = {first_step:Int64}, last_step = {last_step:Int64}, step_offset = {step_offset:Int64})
ORDER BY
    rank,
    step,
    problem_site_id,
    bench_site_id`

// find asks which tensors to compare.
func (j *payloadJob) find(ctx context.Context) error {
	r := j.request
	table, err := j.client.Table(ctx, payloadPairsQuery, map[string]string{
		"problem": r.Problem, "bench": r.Bench, "rank": strconv.FormatInt(r.Rank, 10),
		"first_step": strconv.FormatInt(r.Steps.First(), 10), "last_step": strconv.FormatInt(r.Steps.Last(), 10),
		"step_offset": strconv.FormatInt(r.StepOffset, 10),
	})
	if err != nil {
		return err
	}
	for i, row := range table.Rows {
		pair, err := r.pair(row)
		if err != nil {
			return fmt.Errorf("read row %d of tap.payload_pairs: %w", i, err)
		}
		if r.Steps.Contains(int64(pair.places[0].step)) {
			j.pairs = append(j.pairs, pair)
		}
	}
	return nil
}

// pair reads a row of the query.
func (r PayloadRequest) pair(row []report.Value) (payloadPair, error) {
	var p payloadPair
	var err error
	for i := range p.sites {
		if p.sites[i], err = schemas.ParseID(row[3+i].Exact); err != nil {
			return p, err
		}
		p.locations[i] = row[5+i].Exact
	}
	rank, benchRank, step := uint32(row[0].Number), uint32(row[1].Number), int64(row[2].Number)
	p.places = [2]dumpPlace{{rank, uint32(step)}, {benchRank, uint32(step + r.StepOffset)}} //nolint:gosec // the view found both
	return p, nil
}

// compare fills in one row per pair.
func (j *payloadJob) compare(ctx context.Context) error {
	j.rows = make([]schemas.PayloadErrorRow, len(j.pairs))
	group, readCtx := errgroup.WithContext(ctx)
	group.SetLimit(payloadReaders)
	for i := range j.pairs {
		if readCtx.Err() != nil {
			break
		}
		group.Go(func() error {
			j.rows[i] = j.row(readCtx, j.pairs[i])
			j.progress()
			return readCtx.Err()
		})
	}
	return group.Wait()
}

func (j *payloadJob) progress() {
	done := j.done.Add(1)
	if j.request.Progress != nil {
		j.request.Progress(done, int64(len(j.pairs)))
	}
}

func (j *payloadJob) count() {
	j.result.Pairs = len(j.rows)
	for i := range j.rows {
		switch row := &j.rows[i]; {
		case payload.Has(row.Message, unreadable):
			j.result.Unreadable++
			j.note(j.pairs[i], row.Message)
		case row.RelativeL2 == nil && row.SameBits == 0:
			j.result.Unlike++
		}
	}
}

func (j *payloadJob) note(p payloadPair, message string) {
	if len(j.result.Problems) < mostPayloadProblems {
		at := p.places[0]
		j.result.Problems = append(j.result.Problems, fmt.Sprintf("step %d rank %d: %s", at.step, at.rank, message))
	}
}
