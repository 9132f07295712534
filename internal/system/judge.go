package system

import (
	"context"
	"errors"
	"time"

	"github.com/rs/zerolog"
	"golang.org/x/sync/errgroup"

	"github.com/tensortap/tensortap/analysis/judging"
	"github.com/tensortap/tensortap/pipelines"
)

// ErrMoved says that the system of the folder was started again and listens elsewhere.
var ErrMoved = errors.New("the system listens elsewhere by now")

// lookWhere is how often a judge looks where the system listens.
const lookWhere = time.Second

// JudgeBeside is Judge in another process than the system of the client's folder. It ends with ErrMoved once another system
// runs on the folder.
func (c *Client) JudgeBeside(ctx context.Context, log zerolog.Logger) error {
	return c.beside(ctx, func(ctx context.Context) error { return c.Judge(ctx, log) })
}

// beside works until another system runs on the client's folder.
func (c *Client) beside(ctx context.Context, work func(context.Context) error) error {
	group, workCtx := errgroup.WithContext(ctx)
	group.Go(func() error { return work(workCtx) })
	group.Go(func() error { return c.untilMoved(workCtx) })
	return group.Wait()
}

func (c *Client) untilMoved(ctx context.Context) error {
	tick := time.NewTicker(lookWhere)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			if now, err := c.Endpoint.Folder.Find(); err == nil && (now.NATS != c.Endpoint.NATS || now.ClickHouse != c.Endpoint.ClickHouse) {
				return ErrMoved
			}
		}
	}
}

// Judge keeps standing comparisons judged until ctx ends, beside other judges of the same stream.
func (c *Client) Judge(ctx context.Context, log zerolog.Logger) error {
	leases, err := c.openLeases(ctx, log)
	if err != nil {
		return stopped(ctx, err)
	}
	keeper, err := c.keeper()
	if err != nil {
		return err
	}
	keeper.Metrics = c.health.Judging()
	standing := judging.Standing{Keeper: keeper, Current: c.WaitCurrent, Mine: leases.Take, LetGo: leases.LetGo, Log: log}
	group, judgeCtx := errgroup.WithContext(ctx)
	group.Go(func() error {
		leases.Renew(judgeCtx)
		return nil
	})
	group.Go(func() error { return standing.Run(judgeCtx) })
	return group.Wait()
}

// openLeases takes part in the work that is shared, once the stream's server lets it.
func (c *Client) openLeases(ctx context.Context, log zerolog.Logger) (leases *pipelines.Leases, err error) {
	err = patiently(ctx, logWaiting(log), func() error {
		leases, err = pipelines.OpenLeases(ctx, c.stream, worker())
		return err
	})
	return leases, err
}
