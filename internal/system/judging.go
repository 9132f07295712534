package system

import (
	"context"
	"fmt"

	"golang.org/x/sync/errgroup"

	"github.com/tensortap/tensortap/analysis/ask"
	"github.com/tensortap/tensortap/analysis/compare"
	"github.com/tensortap/tensortap/analysis/judging"
	"github.com/tensortap/tensortap/schemas"
)

// Judged makes sure that the comparison of stored runs is judged as far as they are stored, and returns its id.
func (c *Client) Judged(ctx context.Context, r CompareRequest) (string, error) {
	if err := r.Validate(); err != nil {
		return "", err
	}
	declared, err := c.declaration(ctx, r, r.Sides())
	if err != nil {
		return "", err
	}
	declared.Request.Rank, declared.Request.Steps = -1, compare.DefaultRequest().Steps
	keeper, err := c.keeper()
	if err != nil {
		return "", err
	}
	id, err := keeper.Judged(ctx, declared)
	return schemas.FormatID(id), err
}

// JudgedBefore says whether the comparison of stored runs was asked for and judged, and nothing came since. Through a map
// nothing is stored, so that it never was.
func (c *Client) JudgedBefore(ctx context.Context, r CompareRequest) (bool, error) {
	if r.Map != nil {
		return false, nil
	}
	for _, run := range r.Sides() {
		if err := c.checkNamed(ctx, run); err != nil {
			return false, err
		}
	}
	declared, err := c.declaration(ctx, r, r.Sides())
	if err != nil || declared.Request.Map != nil {
		return false, err
	}
	keeper, err := c.keeper()
	if err != nil {
		return false, err
	}
	return keeper.Done(ctx, declared)
}

// keeper judges what the database has, and publishes to the stream.
func (c *Client) keeper() (*judging.Keeper, error) {
	publisher, err := (&publishing{client: c}).newPublisher()
	if err != nil {
		return nil, err
	}
	return &judging.Keeper{
		Door: c.Door, Open: c.openJob, Publish: publisher.PublishTogether, Now: c.now, Tracer: c.health.Tracer(),
		Stored: func(ctx context.Context) error {
			if err := publisher.Flush(ctx); err != nil {
				return err
			}
			return c.WaitStored(ctx)
		},
	}, nil
}

// openJob prepares a comparison of stored runs.
func (c *Client) openJob(ctx context.Context, r compare.Request) (*compare.Job, error) {
	job, err := compare.Open(ctx, c.source(), r)
	return job, ask.AsStored(err)
}

// declaration is the comparison that is asked for, of runs by these names, with what the database knows about it.
func (c *Client) declaration(ctx context.Context, r CompareRequest, names []string) (judging.Comparison, error) {
	declared := judging.Comparison{Request: r.choosing(names), Strict: r.Strict}
	if err := c.refine(ctx, &declared.Request); err != nil {
		return declared, err
	}
	return declared, c.chooseMap(ctx, &declared.Request)
}

// refine adds what the database knows of how to judge two runs.
func (c *Client) refine(ctx context.Context, request *compare.Request) error {
	group, askCtx := errgroup.WithContext(ctx)
	group.Go(func() (err error) {
		request.Judge.Exceptions, err = judging.Exceptions(askCtx, c.Door)
		return err
	})
	group.Go(func() (err error) {
		request.Payloads, err = judging.Payloads(askCtx, c.Door, request.Problem, request.Benches[0])
		return err
	})
	return group.Wait()
}

// chooseMap takes the map that ships for the runs, where they are of different engines and none was given: what is declared
// names it.
func (c *Client) chooseMap(ctx context.Context, r *compare.Request) error {
	choose := r.ChooseMap && r.Map == nil
	r.ChooseMap = false
	if !choose {
		return nil
	}
	engines := map[string]string{}
	described, err := ask.Rows[schemas.RunRow](ctx, c.Door, fmt.Sprintf("run_id IN (%d, %d)", schemas.RunID(r.Problem), schemas.RunID(r.Benches[0])))
	if err != nil {
		return fmt.Errorf("read which engines the runs are of: %w", err)
	}
	for i := range described {
		engines[described[i].Name] = described[i].Engine
	}
	if engines[r.Problem] == engines[r.Benches[0]] {
		return nil
	}
	choosing := *r
	choosing.ChooseMap = true
	job, err := c.openJob(ctx, choosing)
	if err != nil {
		return err
	}
	r.Map = job.Map()
	return nil
}
