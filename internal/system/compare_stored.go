package system

import (
	"context"
	"fmt"

	"github.com/tensortap/tensortap/analysis/ask"
	"github.com/tensortap/tensortap/analysis/compare"
	"github.com/tensortap/tensortap/analysis/judge"
	"github.com/tensortap/tensortap/analysis/judging"
	"github.com/tensortap/tensortap/analysis/report"
	"github.com/tensortap/tensortap/analysis/rows/store"
	"github.com/tensortap/tensortap/consumers/clickhouse"
	"github.com/tensortap/tensortap/internal/retention"
	"github.com/tensortap/tensortap/schemas"
)

// judgeStored judges runs of the database, and stores the result.
func (c *Client) judgeStored(ctx context.Context, r CompareRequest, comparison *report.Comparison) (*compare.Answer, error) {
	declared := judging.Comparison{Request: r.choosing(r.Sides()), Strict: r.Strict}
	declared.Request.Keep.Limit = max(declared.Request.Keep.Limit, rememberedRows)
	source := c.source()
	job, err := c.openStored(ctx, source, &declared.Request)
	if err != nil {
		return nil, err
	}
	if r.Payload {
		if err := c.requirePayloads(ctx, comparison.Runs()); err != nil {
			return nil, err
		}
		if err := c.heedStored(ctx, r, source, job, declared.Request.Payloads, comparison); err != nil {
			return nil, err
		}
	}
	declared.Request.Map = job.Map()
	if len(job.Merges()) == 0 && job.Map() == nil { // else other programs were aligned
		if err := c.publishAlignments(ctx, job); err != nil {
			return nil, fmt.Errorf("store how %s is aligned with %s: %w", comparison.Problem, comparison.Bench(), err)
		}
	}
	keeper, err := c.keeper()
	if err != nil {
		return nil, err
	}
	return keeper.Answer(ctx, declared, job)
}

// requirePayloads is an error where raw tensors of a run were removed.
func (c *Client) requirePayloads(ctx context.Context, runs []string) error {
	for _, run := range runs {
		removed, err := clickhouse.Removed(ctx, c.database, schemas.RunID(run), retention.Payloads)
		if err != nil {
			return err
		}
		if removed {
			return fmt.Errorf("compare raw tensors of run %s: retention removed them, `tensortap runs` says so", run)
		}
	}
	return nil
}

// heedStored compares the raw tensors of stored runs, stores what they said, and has the comparison be judged by it and by
// what is known of others.
func (c *Client) heedStored(ctx context.Context, r CompareRequest, source *store.Source, job *compare.Job, known map[compare.PayloadPlace]judge.Payload, comparison *report.Comparison) error {
	raw, err := compareRaw(ctx, r.Folders, source, job, comparison)
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
