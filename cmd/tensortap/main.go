// Command tensortap finds where the numbers of a model went wrong: it stores the events of the
// ranks of training jobs and inference engines, and compares runs. `tensortap --help` lists its
// commands.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/tensortap/tensortap/analysis/report"
	"github.com/tensortap/tensortap/internal/system"
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

// programError ends a command with the status of the program that it ran, and with any other error.
type programError struct {
	status int
	err    error
}

func (e *programError) Error() string {
	return fmt.Sprintf("the program ended with status %d: %v", e.status, e.err)
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// A reader of the output that has seen enough, such as head, is an error of that write: the command then ends in
	// order.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	status := run(ctx, os.Args[1:], os.Stdout, os.Stderr, os.Getenv)
	stop()
	os.Exit(status)
}

// run is the whole program without a process.
func run(ctx context.Context, args []string, stdout, stderr io.Writer, getenv func(string) string) int {
	root := newRoot(stdout, stderr, getenv) //nolint:contextcheck // cobra hands ctx to the command
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	var program *programError
	switch {
	case err == nil:
		return exitSame
	case errors.As(err, &program):
		return endedWith(stderr, program)
	case errors.Is(err, errDiffers):
		return exitDiffers
	case closedOutput(err):
		return exitSame // the reader that closed the output has seen enough
	}
	if cause := context.Cause(ctx); cause != nil && (errors.Is(err, cause) || errors.Is(err, context.Canceled)) {
		err = fmt.Errorf("stopped: %w", cause) // the error of the interrupted work says less
	}
	fmt.Fprintln(stderr, "tensortap:", printable(err))
	if system.TablesDamaged(err) {
		fmt.Fprintln(stderr, "files of a table are damaged or gone: `tensortap verify --heal` stores its rows again")
	}
	return exitError
}

// unlessClosed is the error of writing an answer, unless its reader has seen enough: the status is still the answer's.
func unlessClosed(err error) error {
	if closedOutput(err) {
		return nil
	}
	return err
}

// closedOutput says whether the error is that nobody reads standard output any more. A connection can be closed, too.
func closedOutput(err error) bool {
	file, ok := errors.AsType[*fs.PathError](err)
	return ok && file.Path == os.Stdout.Name() && errors.Is(file.Err, syscall.EPIPE)
}

// endedWith is a program's own status; errors of its recording are printed besides.
func endedWith(stderr io.Writer, program *programError) int {
	if program.err != nil {
		fmt.Fprintln(stderr, "tensortap:", printable(program.err))
	}
	if program.status == 0 {
		return exitError
	}
	return program.status
}

// printable is the error without control characters that a name or a file could send to a terminal.
func printable(err error) string {
	lines := strings.Split(err.Error(), "\n")
	for i, line := range lines {
		lines[i] = report.Printable(line)
	}
	return strings.Join(lines, "\n")
}
