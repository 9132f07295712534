package system

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/tensortap/tensortap/internal/durable"
)

// sharingLook is how often a place is asked for again.
const sharingLook = 50 * time.Millisecond

// Share runs joined against the system that runs on the folder. Where none runs it runs own, which is to start one. A
// system that is starting, or serves one question of somebody else's, is waited for: wait is told why, as often as it is
// to wait a moment, and its error ends the waiting.
func (f Folder) Share(ctx context.Context, joined func(context.Context, Endpoint) error, own func(context.Context) error, wait func(why error) error) error {
	for {
		err := f.join(ctx, joined)
		if errors.Is(err, ErrNotRunning) {
			err = own(ctx)
		}
		if held := (*HeldError)(nil); !errors.As(err, &held) && !errors.Is(err, ErrStarting) {
			return err
		}
		if err := wait(err); err != nil {
			return err
		}
	}
}

// join holds the place of one who uses the running system, for as long as job lasts.
func (f Folder) join(ctx context.Context, job func(context.Context, Endpoint) error) error {
	if _, err := f.Find(); err != nil {
		return err
	}
	place, err := f.place(ctx, syscall.LOCK_SH)
	if err != nil {
		return err
	}
	defer durable.Unlock(place) //nolint:errcheck // gives the place back; nothing is written through it
	endpoint, err := f.Find()   // again: it may have ended while we waited
	if err != nil {
		return err
	}
	return job(ctx, endpoint)
}

// Alone waits until nobody who joined the system uses it any more, and lets nobody join until the file is closed.
func (f Folder) Alone(ctx context.Context) (*os.File, error) { return f.place(ctx, syscall.LOCK_EX) }

// makeUsers has the file of users belong to who starts the system. Root, who asks it first, would shut its owner out.
func (f Folder) makeUsers() error {
	file, err := f.openUsers()
	if err != nil {
		return err
	}
	return file.Close()
}

func (f Folder) openUsers() (*os.File, error) {
	return os.OpenFile(filepath.Join(string(f), "users"), os.O_RDWR|os.O_CREATE, 0o600)
}

// place locks the file of users, shared by those who joined.
func (f Folder) place(ctx context.Context, how int) (*os.File, error) {
	file, err := f.openUsers()
	if err != nil {
		return nil, fmt.Errorf("join the system on %s: %w", f, err)
	}
	for {
		err := syscall.Flock(int(file.Fd()), how|syscall.LOCK_NB)
		if err == nil {
			return file, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			return nil, errors.Join(fmt.Errorf("join the system on %s: %w", f, err), file.Close())
		}
		select {
		case <-time.After(sharingLook):
		case <-ctx.Done():
			return nil, errors.Join(context.Cause(ctx), file.Close())
		}
	}
}
