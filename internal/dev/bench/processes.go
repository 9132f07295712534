package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/tensortap/tensortap/internal/dev/processes"
)

// sampleEvery is how often peakMemory looks.
const sampleEvery = 20 * time.Millisecond

// peakMemory is the most that was seen until ctx ended.
func peakMemory(ctx context.Context, pid int) processes.Memory {
	ticker := time.NewTicker(sampleEvery)
	defer ticker.Stop()
	var peak processes.Memory
	for {
		peak = peak.Most(processes.MemoryOf(pid))
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return peak
		}
	}
}

// runs runs a program to its end; a status of 1 is an answer, too. With peak it also watches the memory.
func (e *env) runs(ctx context.Context, peak *processes.Memory, program string, arguments ...string) (answer string, status int, err error) {
	command := exec.CommandContext(ctx, program, arguments...) //nolint:gosec // our own
	var said, complaint strings.Builder
	command.Stdout, command.Stderr = &said, &complaint
	command.Env = append(os.Environ(), "TMPDIR="+e.folder)
	if err := command.Start(); err != nil {
		return "", 0, err
	}
	watching, stop := context.WithCancel(ctx)
	var watch errgroup.Group
	if peak != nil {
		watch.Go(func() error { *peak = peakMemory(watching, command.Process.Pid); return nil })
	}
	err = command.Wait()
	stop()
	err = errors.Join(err, watch.Wait())
	status = command.ProcessState.ExitCode()
	if err != nil && status != 1 {
		return "", status, fmt.Errorf("%s: %w: %s%s", arguments[0], err, said.String(), complaint.String())
	}
	return said.String(), status, nil
}

// used is the processor time of this process alone that a call takes, in seconds.
func used(call func() error) (float64, error) {
	before, err := ownSeconds()
	if err != nil {
		return 0, err
	}
	if err := call(); err != nil {
		return 0, err
	}
	after, err := ownSeconds()
	return after - before, err
}

func ownSeconds() (float64, error) {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0, fmt.Errorf("read own processor time: %w", err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano()).Seconds(), nil
}

// cost is the processor time of this process and of those that it started.
type cost map[int]float64

func startCost() cost {
	c := cost{}
	for _, pid := range processes.Tree(os.Getpid()) {
		c[pid] = processes.Seconds(pid)
	}
	return c
}

// per says what was used since then, in shares.
func (c cost) per(shares float64) string {
	var own, others float64
	for pid, before := range c {
		used := (processes.Seconds(pid) - before) / shares
		if pid == os.Getpid() {
			own = used
		} else {
			others += used
		}
	}
	return fmt.Sprintf("%.2f s here, %.2f s in the engine", own, others)
}
