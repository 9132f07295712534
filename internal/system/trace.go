package system

import (
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/tensortap/tensortap/producers/agent"
)

const (
	traceLook     = 200 * time.Millisecond // how often it is asked whether a file is there
	tracePatience = 2 * time.Second        // for an answer to that
)

// Trace asks processes of a run for a file each, waits until these accept, within patience, and then until the files
// are there, for so long at most. The files' content is in the answers where it could be had.
func (c *Client) Trace(ctx context.Context, run string, r agent.Request, patience, most time.Duration) (Asked, error) {
	r.Sequence = rand.Uint32() | 1 //nolint:gosec // tells requests apart, no secret
	asked, err := c.Ask(ctx, run, r, patience)
	if err != nil {
		return asked, err
	}
	patient, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	group := new(errgroup.Group)
	for i := range asked.Answers {
		if answer := &asked.Answers[i]; answer.File != "" {
			group.Go(func() error {
				c.awaitFile(patient, run, r, answer)
				return nil
			})
		}
	}
	_ = group.Wait() // none fails
	if ctx.Err() != nil {
		return asked, context.Cause(ctx)
	}
	return asked, nil
}

// awaitFile completes an answer when the file is there. A process that has ended meanwhile may have left it.
func (c *Client) awaitFile(ctx context.Context, run string, r agent.Request, answer *agent.Answer) {
	r.Ranks = []int64{int64(answer.Rank)}
	for answer.State == agent.StateTracing {
		select {
		case <-ctx.Done():
			return
		case <-time.After(traceLook):
		}
		if c.askAgain(ctx, run, r, answer) != nil {
			break
		}
	}
	if host, err := os.Hostname(); err == nil && host == answer.Host {
		if text, err := os.ReadFile(answer.File); err == nil { //nolint:gosec // that of an agent of ours
			answer.State, answer.Content = agent.StateTraced, text
			return
		}
	}
	if r.Content = true; answer.State == agent.StateTraced && c.askAgain(ctx, run, r, answer) == nil {
		answer.Content = unpacked(answer.Content)
	}
}

func (c *Client) askAgain(ctx context.Context, run string, r agent.Request, answer *agent.Answer) error { //nolint:gocritic // copied to be changed
	asked, err := c.askUnheard(ctx, run, r, tracePatience)
	if err != nil {
		return err
	}
	if at := slices.IndexFunc(asked.Answers, func(a agent.Answer) bool { return a.PID == answer.PID && a.File != "" }); at >= 0 {
		*answer = asked.Answers[at]
	}
	return nil
}

func unpacked(packed []byte) []byte {
	unpack, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil
	}
	text, err := io.ReadAll(unpack)
	if err != nil {
		return nil
	}
	return text
}
