package system

import (
	"context"
	"errors"
	"fmt"
	"os"

	"golang.org/x/sync/errgroup"
)

// WithTemporary runs job on a system of its own in a new folder below base,
// and removes it afterwards. Base may be empty for the default of temporary
// files.
func WithTemporary(ctx context.Context, base string, cfg Config, job func(context.Context, *Client) error) error {
	folder, err := os.MkdirTemp(base, "tensortap-")
	if err != nil {
		return fmt.Errorf("make temporary folder: %w", err)
	}
	cfg.Folder, cfg.Temporary = Folder(folder), true
	err = WithSystem(ctx, cfg, job)
	return errors.Join(err, os.RemoveAll(folder))
}

// WithSystem runs job on a system of its own, and stops that afterwards. It
// returns why ctx ended if that came before the job.
func WithSystem(ctx context.Context, cfg Config, job func(context.Context, *Client) error) error {
	s, err := New(cfg)
	if err != nil {
		return err
	}
	running, stop := context.WithCancel(ctx)
	defer stop()
	group, running := errgroup.WithContext(running)
	begun := false
	group.Go(func() error {
		return s.Run(running, func(e Endpoint) error {
			begun = true
			group.Go(func() error {
				defer stop()
				client, err := Connect(running, e, cfg.Now)
				if err != nil {
					return err
				}
				defer client.Close()
				return job(running, client)
			})
			return nil
		})
	})
	err = group.Wait()
	if err == nil && !begun {
		return context.Cause(ctx)
	}
	return err
}
