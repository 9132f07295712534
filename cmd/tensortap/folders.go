package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/tensortap/tensortap/internal/system"
)

// question is asked of a system, wherever it runs.
type question func(context.Context, *system.Client) error

// inTemporary asks a system that is there for folders alone, and is removed afterwards.
func (a *app) inTemporary(ctx context.Context, ask question) error {
	if a.flagged {
		return errors.New("folders are looked at in a temporary system of their own, which must not mix with --nats and --clickhouse; " +
			"to look at them there, publish each: tensortap publish msprobe DIR --run NAME")
	}
	a.nats, a.clickhouse = "", "" // those of the environment
	cfg, err := a.config(a.data)
	if err != nil {
		return err
	}
	return system.WithTemporary(ctx, a.getenv("TMPDIR"), cfg, ask)
}

// inRunning asks the running system. Why says, where there is none, for what it is needed.
func (a *app) inRunning(ctx context.Context, why string, ask question) error {
	client, err := a.connect(ctx)
	switch {
	case errors.Is(err, system.ErrNotRunning):
		return fmt.Errorf("%s: %w", why, err)
	case err != nil:
		return err
	}
	defer client.Close()
	return ask(ctx, client)
}
