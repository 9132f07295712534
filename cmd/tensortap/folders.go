package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

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

// inRunning asks the running system, or else one that is there for the question. Why says, where nothing was ever
// stored, for what a system is needed.
func (a *app) inRunning(ctx context.Context, why string, ask question) error {
	err := a.ask(ctx, ask)
	if errors.Is(err, system.ErrNotRunning) {
		return fmt.Errorf("%s: %w", why, err)
	}
	return err
}

// ask asks the running system. Where none runs but has run, one is there for the question, over what that has stored.
func (a *app) ask(ctx context.Context, ask question) error {
	client, err := a.connect(ctx)
	if errors.Is(err, system.ErrNotRunning) && a.hasStored() {
		return a.inOwn(ctx, ask)
	}
	if err != nil {
		return err
	}
	defer client.Close()
	return ask(ctx, client)
}

func (a *app) hasStored() bool {
	absolute, err := filepath.Abs(a.data)
	return err == nil && system.Folder(absolute).HasRun()
}

// inOwn asks a system on the data folder that nobody else hears of.
func (a *app) inOwn(ctx context.Context, ask question) error {
	cfg, err := a.config(a.data)
	if err != nil {
		return err
	}
	cfg.Unannounced = true
	return system.WithSystem(ctx, cfg, ask)
}
