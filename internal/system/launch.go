package system

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/tensortap/tensortap/internal/plural"
	"github.com/tensortap/tensortap/pipelines"
	"github.com/tensortap/tensortap/producers/agent"
	"github.com/tensortap/tensortap/schemas"
)

// WithAgent serves processes of this host while job runs.
func WithAgent(ctx context.Context, endpoint Endpoint, serve ServeRequest, now func() time.Time, job func(context.Context, *Client) error) error {
	client, err := ConnectStream(endpoint, now)
	if err != nil {
		return err
	}
	defer client.Close()
	served, err := client.newAgent(serve)
	if err != nil {
		return err
	}
	serving, stop := context.WithCancel(ctx)
	defer stop()
	group, serving := errgroup.WithContext(serving)
	group.Go(func() error { return client.serve(serving, serve, served) })
	group.Go(func() error {
		defer stop()
		return job(serving, client)
	})
	return group.Wait()
}

// Times of waiting for an agent, which takes a process for dead after five seconds of silence.
const (
	publishedLook     = 50 * time.Millisecond
	publishedPatience = 2 * time.Minute
)

// RecordedRanks is how many ranks of a run were ever published by an agent or, if none was, from files.
func (c *Client) RecordedRanks(ctx context.Context, run string) (int, error) {
	live, err := pipelines.RanksStarted(ctx, c.stream, schemas.RunID(run))
	if err != nil || live > 0 {
		return live, err
	}
	return pipelines.RanksOfFiles(ctx, c.stream, schemas.RunID(run))
}

// WaitPublished waits until an agent has published all processes of the run whose folders are below the root. Those that
// outlive the program are waited for as long, and told; what they record later is the next agent's.
func WaitPublished(ctx context.Context, root, run string, tell func(string)) error {
	patience, outlived := time.NewTimer(publishedPatience), time.NewTimer(spokenAfter)
	defer patience.Stop()
	defer outlived.Stop()
	for {
		left, err := agent.Unpublished(root, run)
		if err != nil || len(left) == 0 {
			return err
		}
		living := slices.DeleteFunc(slices.Clone(left), func(folder string) bool { return !agent.Lives(root, folder) })
		select {
		case <-time.After(publishedLook):
			continue
		case <-outlived.C:
			if len(living) > 0 {
				tell(fmt.Sprintf("waiting for processes that outlive the program, for two minutes at most: %s; Ctrl-C ends that", pidsOf(living)))
			}
			continue
		case <-patience.C:
			err = fmt.Errorf("publish run %s: %s of it %s not done, with folders %s in %s; an agent goes on with them: tensortap agent",
				run, plural.Of(len(left), "process"), plural.Verb(len(left), "is", "are"), strings.Join(left, ", "), root)
		case <-ctx.Done():
			err = fmt.Errorf("publish run %s: %w; an agent goes on with it: tensortap agent", run, context.Cause(ctx))
		}
		if len(living) < len(left) {
			return err
		}
		tell(fmt.Sprintf("processes that outlive the program are left to the next agent, which publishes all that they record: %s", pidsOf(living)))
		return nil
	}
}

// pidsOf are the processes of folders, whose names begin with them.
func pidsOf(folders []string) string {
	pids := make([]string, len(folders))
	for i, folder := range folders {
		pids[i], _, _ = strings.Cut(folder, "-")
	}
	return strings.Join(pids, ", ")
}
