package main

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"

	"github.com/rs/zerolog"
	"golang.org/x/sync/errgroup"

	"github.com/tensortap/tensortap/internal/api"
	"github.com/tensortap/tensortap/internal/system"
)

// upPage is the page and the API of `up`.
type upPage struct {
	answers *api.API
	server  *api.Server
	log     zerolog.Logger
	work    errgroup.Group
	stop    context.CancelFunc // nil before it began
}

// listenUp opens the port: the usual one or, where that is taken and none was asked for, a free one.
func (a *app) listenUp(ctx context.Context, l listening) (*upPage, error) {
	l.control = true
	answers, err := l.answers(a)
	if err != nil {
		return nil, err
	}
	p := &upPage{answers: answers, log: a.logger()}
	if l.place.Address != "" {
		p.server, err = answers.Listen(ctx, l.place)
		return p, err
	}
	for _, l.place.Address = range []string{defaultListen, "127.0.0.1:0"} {
		if p.server, err = answers.Listen(ctx, l.place); !errors.Is(err, syscall.EADDRINUSE) {
			break
		}
	}
	return p, err
}

// begin has requests answered by the system that is up, and returns when they are.
func (p *upPage) begin(ctx context.Context, e system.Endpoint) error {
	client, err := system.Connect(ctx, e, time.Now)
	if err != nil {
		return fmt.Errorf("connect the page: %w", err)
	}
	ctx, p.stop = context.WithCancel(ctx)
	p.work.Go(func() error { return p.server.Run(ctx) })
	ready := make(chan struct{})
	p.work.Go(func() error {
		defer client.Close()
		defer p.stop()
		return answerBy(ctx, client, p.answers, func() { close(ready) }, untilDone)
	})
	select {
	case <-ready:
	case <-ctx.Done():
	}
	return nil
}

// close ends what began.
func (p *upPage) close() {
	if p.stop == nil {
		_ = p.server.Close() // nothing came of it
		return
	}
	p.stop()
	if err := p.work.Wait(); err != nil {
		p.log.Error().Err(err).Msg("the page ended")
	}
}
