// Command tensortap finds where the numbers of a model went wrong: it stores
// what the ranks of training jobs and inference engines report, and compares
// runs. `tensortap --help` lists what it does.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

// version is set by the build.
var version = "dev"

// Exit statuses, as of diff.
const (
	exitSame    = 0
	exitDiffers = 1
	exitError   = 2
)

// errDiffers ends a command that did its work and found a difference.
var errDiffers = errors.New("the runs differ")

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	status := run(ctx, os.Args[1:], os.Stdout, os.Stderr, os.Getenv)
	stop()
	os.Exit(status)
}

// run is the whole program without a process.
func run(ctx context.Context, args []string, stdout, stderr io.Writer, getenv func(string) string) int {
	root := newRoot(stdout, stderr, getenv)
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	switch {
	case err == nil:
		return exitSame
	case errors.Is(err, errDiffers):
		return exitDiffers
	}
	if cause := context.Cause(ctx); cause != nil && (errors.Is(err, cause) || errors.Is(err, context.Canceled)) {
		err = fmt.Errorf("stopped: %w", cause) // what was under way says less
	}
	fmt.Fprintln(stderr, "tensortap:", err)
	return exitError
}
