package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/tensortap/tensortap/internal/system"
)

// question is asked of a system, wherever it runs.
type question func(context.Context, *system.Client) error

// inRunning asks the running system, or else starts one for the question. If nothing was ever stored, the error begins
// with why: the need for a system.
func (a *app) inRunning(ctx context.Context, why string, ask question) error {
	err := a.ask(ctx, ask)
	if errors.Is(err, system.ErrNotRunning) {
		return fmt.Errorf("%s: %w", why, err)
	}
	return err
}

// ask asks the running system. If none runs but one has run, it starts one for the question, over the stored data.
func (a *app) ask(ctx context.Context, ask question) error {
	connected := func(ctx context.Context, endpoint system.Endpoint) error {
		host := hostOf(endpoint)
		client, err := a.connect(ctx, endpoint)
		if err != nil && a.hostHasGone(endpoint) {
			return fmt.Errorf("%w; the next %w", &hostGoneError{host}, system.ErrStarting) // which Share waits for, or starts
		}
		if err != nil {
			return err
		}
		defer client.Close()
		return ask(ctx, client)
	}
	return a.share(ctx, connected, func(ctx context.Context) error { return a.inOwn(ctx, ask) })
}

// share runs joined with the system that runs, or that the flags name, and own where none runs but has run.
func (a *app) share(ctx context.Context, joined func(context.Context, system.Endpoint) error, own func(context.Context) error) error {
	if a.nats != "" && a.clickhouse != "" || !a.hasStored() {
		endpoint, err := a.endpoint()
		if err != nil {
			return err
		}
		return joined(ctx, endpoint)
	}
	folder, err := a.folder()
	if err != nil {
		return err
	}
	return a.shareFolder(ctx, folder, func(ctx context.Context, e system.Endpoint) error { return joined(ctx, a.elsewhere(e)) }, own)
}

// shareFolder is Share for a caller that waits until the folder is free, however long that takes. A signal ends the
// waiting, even if ctx does not know of signals.
func (a *app) shareFolder(ctx context.Context, folder system.Folder, joined func(context.Context, system.Endpoint) error, own func(context.Context) error) error {
	patient, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	known := func(ctx context.Context, e system.Endpoint) error {
		e.Login = a.login
		return joined(ctx, e)
	}
	return folder.Share(ctx, known, own, a.waitFor(patient))
}

// waitFor waits a moment at each call, and says why once that was more than a moment.
func (a *app) waitFor(patient context.Context) func(why error) error {
	const moment, long = 50 * time.Millisecond, time.Second
	begun, told := time.Now(), false
	return func(why error) error {
		if !told && time.Since(begun) >= long {
			fmt.Fprintln(a.stderr, "waiting:", printable(why))
			told = true
		}
		select {
		case <-time.After(moment):
			return nil
		case <-patient.Done():
			return fmt.Errorf("stopped while waiting: %w", why)
		}
	}
}

func (a *app) hasStored() bool {
	folder, err := a.folder()
	return err == nil && folder.HasRun()
}

// inOwn asks a system on the data folder that listens for nobody else.
func (a *app) inOwn(ctx context.Context, ask question) error {
	cfg, err := a.config(a.data)
	if err != nil {
		return err
	}
	cfg.Unannounced = true
	return system.WithSystem(ctx, cfg, ask)
}
