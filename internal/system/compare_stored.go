package system

import (
	"context"
	"fmt"
	"math"

	"github.com/tensortap/tensortap/analysis/ask"
	"github.com/tensortap/tensortap/analysis/compare"
	"github.com/tensortap/tensortap/analysis/judge"
	"github.com/tensortap/tensortap/analysis/report"
	"github.com/tensortap/tensortap/analysis/rows/store"
	"github.com/tensortap/tensortap/schemas"
)

// judgeStored judges runs of the database.
func (c *Client) judgeStored(ctx context.Context, r CompareRequest, comparison *report.Comparison) (*compare.Answer, error) {
	problem, benches := comparison.Problem, comparison.Benches
	request := r.analysis(comparison.Runs())
	if comparison.Stored {
		request.Keep.Limit = max(request.Keep.Limit, rememberedRows)
	}
	source := store.Open(c.database)
	job, err := c.openStored(ctx, source, &request)
	if err != nil {
		return nil, err
	}
	if r.Payload {
		if err := c.heedStored(ctx, r, source, job, request.Payloads, comparison); err != nil {
			return nil, err
		}
	}
	if !comparison.Stored || request.Map != nil {
		return job.Run(ctx, nil)
	}
	if len(job.Merges()) == 0 { // else other programs were aligned
		if _, err := c.publishAlignments(ctx, job); err != nil {
			return nil, fmt.Errorf("store how %s is aligned with %s: %w", problem, benches[0], err)
		}
	}
	if len(request.Payloads) > 0 {
		return job.Run(ctx, nil)
	}
	return c.storeVerdicts(ctx, r, &request, job)
}

// heedStored compares the raw tensors of stored runs, stores what they said, and has the comparison be judged by it and by
// what is known of others.
func (c *Client) heedStored(ctx context.Context, r CompareRequest, source *store.Source, job *compare.Job, known map[compare.PayloadPlace]judge.Payload, comparison *report.Comparison) error {
	folders := r.Folders
	if !comparison.Stored {
		folders = [2]string{r.Problem, r.Bench()}
	}
	raw, err := compareRaw(ctx, folders, source, job, comparison)
	if err != nil {
		return err
	}
	raw.said(known)
	job.Heed(known)
	if err := c.publishRaw(ctx, raw); err != nil {
		return fmt.Errorf("store how far raw tensors are apart: %w", err)
	}
	return c.WaitStored(ctx)
}

// openStored opens a comparison of runs of the database, with what is stored of how to judge them.
func (c *Client) openStored(ctx context.Context, source *store.Source, request *compare.Request) (*compare.Job, error) {
	if err := c.refine(ctx, request); err != nil {
		return nil, err
	}
	job, err := compare.Open(ctx, source, *request)
	return job, ask.AsStored(err)
}

// refine adds what the database knows of how to judge two runs.
func (c *Client) refine(ctx context.Context, request *compare.Request) (err error) {
	if request.Judge.Exceptions, err = c.exceptions(ctx); err != nil {
		return err
	}
	request.Payloads, err = c.payloads(ctx, request.Problem, request.Benches[0])
	return err
}

// exceptions are the user's own.
func (c *Client) exceptions(ctx context.Context) ([]judge.Exception, error) {
	table, err := c.Table(ctx, "SELECT api, role, path, sort, why FROM tap_store.known_exception FINAL ORDER BY api, role, path, sort", nil)
	if err != nil {
		return nil, fmt.Errorf("read known exceptions: %w", err)
	}
	var known []judge.Exception
	for i := range table.Rows {
		text := func(column string) string { return table.Get(i, column).Exact }
		known = append(known, judge.Exception{API: text("api"), Role: text("role"), Path: text("path"), Sort: text("sort"), Why: text("why")})
	}
	return known, nil
}

// payloads are what comparisons of the raw tensors of two runs said.
func (c *Client) payloads(ctx context.Context, problem, bench string) (map[compare.PayloadPlace]judge.Payload, error) {
	table, err := c.Table(ctx, `SELECT rank, step, problem_site_id, bench_site_id, same_bits, relative_l2
		FROM tap_store.payload_error FINAL
		WHERE problem_run_id = xxh3(concat({problem:String}, char(31))) AND bench_run_id = xxh3(concat({bench:String}, char(31)))`,
		map[string]string{"problem": problem, "bench": bench})
	if err != nil {
		return nil, fmt.Errorf("read what raw tensors said: %w", err)
	}
	told := make(map[compare.PayloadPlace]judge.Payload, len(table.Rows))
	for i := range table.Rows {
		at := compare.PayloadPlace{Rank: uint32(count(table, i, "rank")), Step: uint32(count(table, i, "step"))} //nolint:gosec // they are such numbers in the table
		for column, into := range map[string]*uint64{"problem_site_id": &at.ProblemSite, "bench_site_id": &at.BenchSite} {
			if *into, err = schemas.ParseID(table.Get(i, column).Exact); err != nil {
				return nil, fmt.Errorf("read what raw tensors said: %w", err)
			}
		}
		said := judge.Payload{SameBits: table.Get(i, "same_bits").True(), Error: math.NaN()}
		if v := table.Get(i, "relative_l2"); !v.Null {
			said.Error = v.Number
		}
		told[at] = said
	}
	return told, nil
}
