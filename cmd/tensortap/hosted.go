package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/tensortap/tensortap/analysis/report"
	"github.com/tensortap/tensortap/internal/system"
)

// hostLook is how often it is looked whether the system's process is there.
const hostLook = 500 * time.Millisecond

// hostGoneError says that the process has ended which hosted the system that this one had joined. The caller goes on in the next system.
type hostGoneError struct{ host string }

// Error implements error.
func (e *hostGoneError) Error() string {
	return "the system was hosted by " + e.host + ", which has ended"
}

// whileHosted does something in a system for as long as its host lives. Its error is a hostGoneError where that has ended before.
func (a *app) whileHosted(ctx context.Context, client *system.Client, host string, do func(context.Context) error) error {
	if client.Endpoint.PID == os.Getpid() {
		return do(ctx)
	}
	ctx, gone := context.WithCancelCause(ctx)
	defer gone(nil)
	watching, stop := context.WithCancel(ctx)
	var group errgroup.Group
	group.Go(func() error {
		for again := time.NewTimer(0); ; again.Reset(hostLook) {
			select {
			case <-watching.Done():
				return nil
			case <-again.C:
			}
			if a.hostHasGone(client.Endpoint) {
				gone(&hostGoneError{host})
			}
		}
	})
	err := do(ctx)
	stop()
	_ = group.Wait() // it gives no error
	if cause := (*hostGoneError)(nil); errors.As(context.Cause(ctx), &cause) {
		return cause
	}
	return err
}

// hostHasGone says whether the system that ran there has ended. Of one that flags name nobody knows.
func (a *app) hostHasGone(e system.Endpoint) bool {
	if a.nats != "" || e.PID == 0 {
		return false
	}
	now, err := e.Folder.Find()
	return err != nil || now.PID != e.PID || now.NATS != e.NATS
}

// hostOf names the process of a system that runs.
func hostOf(e system.Endpoint) string {
	const longest = 120
	host := fmt.Sprintf("process %d", e.PID)
	words, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(e.PID), "cmdline"))
	if err != nil || len(words) == 0 {
		return host
	}
	command := report.Printable(strings.TrimRight(strings.ReplaceAll(string(words), "\x00", " "), " "))
	if len(command) > longest {
		command = strings.ToValidUTF8(command[:longest], "") + "…"
	}
	return host + ", " + command
}

// aroundHosts is around that goes on with rest in another system, its own or the next, whenever the host of the one it had joined has ended.
func (a *app) aroundHosts(ctx context.Context, l launching, job, rest question) error {
	err := a.around(ctx, l, job)
	for gone := (*hostGoneError)(nil); errors.As(err, &gone); {
		a.tellLaunch(gone.Error() + "; what is recorded since then is published in another")
		err = a.around(ctx, l, rest)
	}
	return err
}
