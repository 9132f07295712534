// Package launch runs a program as if it had been started by hand: its input and output, its signals, its exit status.
package launch

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

// Program is the command to run, with its environment and streams.
type Program struct {
	Args           []string // the program, then its arguments
	Environment    []string
	Stdout, Stderr io.Writer
	Stopped        func() // called as this process gets a signal by which people end programs; may be nil
}

// Statuses of a program that did not end by itself, as shells give them.
const (
	statusNotFound   = 127
	statusNotStarted = 126
	statusSignal     = 128
)

// Run runs the program to its end and returns its exit status; an error is why it could not be started. Signals that
// this process gets meanwhile are the program's.
func Run(p Program) (int, error) {
	signals := listen()
	defer signal.Stop(signals)
	cmd := exec.Command(p.Args[0], p.Args[1:]...) //nolint:gosec,noctx // the user's own program, which ends when it likes
	cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = p.Environment, os.Stdin, p.Stdout, p.Stderr
	if err := cmd.Start(); err != nil {
		status := statusNotStarted
		if errors.Is(err, exec.ErrNotFound) || errors.Is(err, os.ErrNotExist) {
			status = statusNotFound
		}
		return status, fmt.Errorf("start %s: %w", p.Args[0], err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for {
		select {
		case s := <-signals:
			if p.Stopped != nil && ends(s) {
				p.Stopped()
			}
			pass(cmd.Process, s)
		case err := <-ended:
			return status(err)
		}
	}
}

func ends(s os.Signal) bool {
	return s == syscall.SIGINT || s == syscall.SIGTERM || s == syscall.SIGHUP || s == syscall.SIGQUIT
}

// listen gets the signals that are handed on. An ignored signal, as by nohup, stays ignored: the program inherits
// that.
func listen() chan os.Signal {
	signals := make(chan os.Signal, 16)
	for _, s := range []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2} {
		if !signal.Ignored(s) {
			signal.Notify(signals, s)
		}
	}
	return signals
}

// pass hands a signal on, unless a terminal gave it to the program too.
func pass(program *os.Process, s os.Signal) {
	if (s == syscall.SIGINT || s == syscall.SIGQUIT || s == syscall.SIGHUP) && inForeground() {
		return
	}
	_ = program.Signal(s) // fails when it has just ended
}

// inForeground says whether keys such as Ctrl-C reach this process's group, which is the program's.
func inForeground() bool {
	terminal, err := os.Open("/dev/tty")
	if err != nil {
		return false
	}
	defer terminal.Close() //nolint:errcheck // was only asked
	group, err := unix.IoctlGetInt(int(terminal.Fd()), unix.TIOCGPGRP)
	return err == nil && group == unix.Getpgrp()
}

func status(err error) (int, error) {
	var exit *exec.ExitError
	if err == nil {
		return 0, nil
	}
	if !errors.As(err, &exit) {
		return statusNotStarted, fmt.Errorf("wait for the program: %w", err)
	}
	if state, ok := exit.Sys().(syscall.WaitStatus); ok && state.Signaled() {
		return statusSignal + int(state.Signal()), nil
	}
	return exit.ExitCode(), nil
}
