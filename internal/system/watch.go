package system

import (
	"context"
	"fmt"
	"time"

	"github.com/tensortap/tensortap/analysis/report"
	"github.com/tensortap/tensortap/analysis/watch"
	"github.com/tensortap/tensortap/internal/steps"
)

// WatchRequest says which runs to watch, and who is told. Begin with DefaultWatchRequest.
type WatchRequest struct {
	Compare       CompareRequest // names of runs, which need not exist yet, and how to judge
	UntilDiverged bool           // the first divergence ends the watch
	Idle          time.Duration  // how long nothing at all may come before what is not whole is judged as it is, and runs count as ended
	Connect       func(context.Context) (*Client, error)
	Say           func(*report.WatchEvent) error
	Busy          func(string) // is told now and then what goes on
	Now           func() time.Time
}

// DefaultWatchRequest needs runs and functions.
func DefaultWatchRequest() WatchRequest {
	return WatchRequest{Compare: DefaultCompareRequest(), Idle: watch.DefaultRequest().Idle, Busy: func(string) {}}
}

// Validate says what is wrong with the request.
func (r WatchRequest) Validate() error {
	anySteps := r.Compare
	anySteps.Steps = steps.All() // of a watch they may have gaps
	if err := anySteps.Validate(); err != nil {
		return err
	}
	for _, name := range r.Compare.Sides() {
		if IsFolder(name) {
			return fmt.Errorf("%s is a folder, and watch follows stored runs; tensortap compare takes folders as they are; to watch it, %s", name, publishFirst(name))
		}
	}
	return nil
}

// Watch follows two runs and says what becomes of each step, and, within a
// second of its being stored, where they diverge. It returns when both have
// ended, when UntilDiverged is fulfilled, or when ctx ends; a database that is
// away is waited for.
func Watch(ctx context.Context, r WatchRequest) (report.Verdict, error) {
	if err := r.Validate(); err != nil {
		return report.Unknown, err
	}
	request := watch.DefaultRequest()
	request.Compare = r.Compare.choosing(r.Compare.Sides())
	request.UntilDiverged, request.Idle = r.UntilDiverged, r.Idle
	request.Say, request.Busy, request.Now = r.Say, r.Busy, r.Now
	request.Connect = func(ctx context.Context) (*watch.Database, error) {
		client, err := r.Connect(ctx)
		if err != nil {
			return nil, err
		}
		return client.watched(r.Compare.Problem, r.Compare.Bench()), nil
	}
	return watch.Run(ctx, request)
}

// watched is what a watch of two runs asks.
func (c *Client) watched(problem, bench string) *watch.Database {
	return &watch.Database{
		Source: c.source(), Refine: c.refine, Close: c.Close,
		Stored: func(ctx context.Context) (bool, error) {
			return c.tablesCaughtUp(ctx)
		},
		Living: func(ctx context.Context) (bool, error) {
			living, err := c.Table(ctx, "SELECT countIf(status = 'running') AS running FROM tap.runs WHERE name IN ({problem:String}, {bench:String})",
				map[string]string{"problem": problem, "bench": bench})
			return err == nil && living.Get(0, "running").Number > 0, err
		},
		Gaps:    func(ctx context.Context) ([]string, error) { return c.Gaps(ctx, problem, bench) },
		Nearest: c.NearestRuns,
	}
}
