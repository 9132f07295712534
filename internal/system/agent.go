package system

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/tensortap/tensortap/internal/plural"
	"github.com/tensortap/tensortap/internal/retention"
	"github.com/tensortap/tensortap/pipelines"
	"github.com/tensortap/tensortap/producers/agent"
)

// ServeRequest says which processes are served.
type ServeRequest struct {
	Spool    string            // root of the spools; need not exist yet
	Payloads string            // folder of raw tensors that are asked for; need not exist yet
	Resume   bool              // ranks that have ended may be started again under the same run
	Patient  bool              // while agents of another system have the spools, they are left alone; else that is an error
	Follow   Following         // files of lines
	Rules    retention.Rules   // which spools go that nobody serves
	Tell     func(text string) // told in a line what is served; calls may overlap
	Of       string            // only processes of this run are told of; empty for all
	// Waiting is as in PublishRequest.
	Waiting func(error)
}

// Serve publishes what the collectors of this host's processes write, until ctx ends.
func (c *Client) Serve(ctx context.Context, r ServeRequest) error {
	published, err := c.newAgent(r)
	if err != nil {
		return err
	}
	serving, stop := context.WithCancel(ctx)
	var removing errgroup.Group
	removing.Go(func() error {
		c.newHostFiles(r).removeDeleted(serving)
		return nil
	})
	err = c.serve(ctx, r, published)
	stop()
	return errors.Join(err, removing.Wait())
}

// newAgent has taken the root of the spools, or nothing need be served.
func (c *Client) newAgent(r ServeRequest) (*hearing, error) {
	heard := c.newHearing(r.Tell)
	cfg := agent.DefaultConfig(r.Spool, c.now)
	cfg.Payloads, cfg.Resume, cfg.Tell, cfg.Of, cfg.Stream = r.Payloads, r.Resume, r.Tell, r.Of, c.agentStream(r.Waiting, heard)
	cfg.Patient, cfg.Owner = r.Patient, agent.Owner{PID: os.Getpid(), Data: string(c.Endpoint.Folder), Stream: withoutSecret(c.Endpoint.NATS)}
	heard.serving = agent.New(cfg)
	return heard, heard.serving.Take()
}

// withoutSecret is an address without what is needed to log in.
func withoutSecret(address string) string {
	if u, err := url.Parse(address); err == nil {
		return u.Host
	}
	return address[strings.LastIndexByte(address, '@')+1:]
}

func (c *Client) serve(ctx context.Context, r ServeRequest, heard *hearing) error {
	serving := heard.serving
	defer heard.end()
	c.health.Agent(serving)
	group, following := errgroup.WithContext(ctx)
	group.Go(func() error { return serving.Run(following) })
	group.Go(func() error { return c.followLaunches(following, r) })
	group.Go(func() error { return c.followRecords(following, r, serving) })
	group.Go(func() error { return c.followFiles(following, r) })
	group.Go(func() error { return c.letSpoolsGo(following, r, serving) })
	err := group.Wait()
	if counts := serving.Counts(); counts.Messages.Load() > 0 {
		r.Tell(fmt.Sprintf("published %s, %d of them of tensor, in %s; definitions and records that could not be read: %d",
			plural.Of(counts.Rows.Load(), "row"), counts.Tensors.Load(), plural.Of(counts.Messages.Load(), "message"), counts.Damaged.Load()))
	}
	if err != nil && ctx.Err() == nil {
		return fmt.Errorf("serve spools in %s: %w", r.Spool, err)
	}
	return nil
}

// agentStream is how an agent reaches this client's stream. Requests to the runs that it publishes are heard.
func (c *Client) agentStream(waiting func(error), heard *hearing) agent.Stream {
	p := &publishing{client: c, request: PublishRequest{Waiting: waiting}}
	return agent.Stream{
		NewPublisher: func() (agent.Publisher, error) { return p.newPublisher() },
		Admit: func(ctx context.Context, s agent.Start) (place agent.Place, err error) {
			err = p.patiently(ctx, func() error {
				var err error
				if err = pipelines.RefuseClosed(ctx, c.stream, s.RunID); err != nil {
					return err
				}
				admitted, err := pipelines.Admit(ctx, c.stream, pipelines.StartRequest(s))
				place = agent.Place(admitted)
				return err
			})
			if err == nil {
				err = heard.hear(s)
			}
			return place, err
		},
		Leave: heard.leave,
		Refuse: func(ctx context.Context, s agent.Start) error {
			return p.patiently(ctx, func() error { return pipelines.RefuseStart(ctx, c.stream, pipelines.StartRequest(s)) })
		},
		Finish: func(ctx context.Context, s agent.Start, ended bool, next uint32) error {
			return p.patiently(ctx, func() error {
				return pipelines.FinishStart(ctx, c.stream, pipelines.StartRequest(s), ended, next)
			})
		},
	}
}
