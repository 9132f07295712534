package main

import (
	"context"
	"time"

	"github.com/rs/zerolog"

	"github.com/tensortap/tensortap/analysis/ask"
	"github.com/tensortap/tensortap/analysis/report"
	"github.com/tensortap/tensortap/analysis/symptoms"
	"github.com/tensortap/tensortap/internal/system"
)

const (
	hangsSilent    = time.Minute
	upHangsShare   = 20 // to ask takes one in so many parts of the time at most
	mostHangsKnown = 10_000
)

// upHangs says in the log which collectives of live runs wait, each once.
type upHangs struct {
	endpoint system.Endpoint
	log      zerolog.Logger
	told     map[string]bool
}

// watchHangsOf watches a system whose tables it may read.
func (a *app) watchHangsOf(ctx context.Context, e system.Endpoint) {
	if e.Reader == "" {
		return
	}
	hangs := upHangs{endpoint: e, log: a.logger(), told: map[string]bool{}}
	go hangs.watch(ctx)
}

func (u *upHangs) watch(ctx context.Context) {
	again(ctx, upHangsShare, func() {
		if err := u.look(ctx); err != nil && ctx.Err() == nil { // the database may be away for a while
			u.log.Debug().Err(err).Msg("look for hangs")
		}
	})
}

func (u *upHangs) look(ctx context.Context) error {
	reader, err := system.OpenReader(ctx, u.endpoint)
	if err != nil {
		return err
	}
	defer reader.Close() //nolint:errcheck // only read
	runs, err := reader.StandingRuns(ctx, symptoms.HangWaiting, hangsSilent)
	for _, run := range runs {
		if err := u.lookAt(ctx, reader, run); err != nil {
			return err
		}
	}
	return err
}

func (u *upHangs) lookAt(ctx context.Context, reader *ask.Door, run string) error {
	hangs, err := askHangs(ctx, reader, run)
	for _, h := range hangs {
		key := run + "\x1f" + h.Key
		if u.told[key] || len(u.told) == mostHangsKnown {
			continue
		}
		u.told[key] = true
		u.log.Warn().Str("run", report.Printable(run)).Msg("hang: " + report.Printable(h.Sentence))
	}
	return err
}
