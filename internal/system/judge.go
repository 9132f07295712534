package system

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"

	"github.com/rs/zerolog"
	"golang.org/x/sync/errgroup"

	"github.com/tensortap/tensortap/analysis/judging"
	"github.com/tensortap/tensortap/pipelines"
)

// Judge keeps standing comparisons judged until ctx ends, beside other judges of the same stream.
func (c *Client) Judge(ctx context.Context, log zerolog.Logger) error {
	host, _ := os.Hostname() // it only tells people who it is
	leases, err := pipelines.OpenLeases(ctx, c.stream, fmt.Sprintf("%s %d %s", host, os.Getpid(), rand.Text()))
	if ctx.Err() != nil {
		return nil //nolint:nilerr // a system may be stopped as soon as it has started
	}
	if err != nil {
		return err
	}
	keeper, err := c.keeper()
	if err != nil {
		return err
	}
	standing := judging.Standing{Keeper: keeper, Current: c.WaitCurrent, Mine: leases.Take, Log: log}
	group, judgeCtx := errgroup.WithContext(ctx)
	group.Go(func() error {
		leases.Renew(judgeCtx)
		return nil
	})
	group.Go(func() error { return standing.Run(judgeCtx) })
	return group.Wait()
}
