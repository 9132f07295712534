package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"
)

// memory of a process and of all that it started, in bytes.
type memory struct {
	shared float64 // proportional set size: a page of several processes counts once (PSS)
	single float64 // resident set size: it counts for each (RSS)
}

func (m memory) most(other memory) memory {
	return memory{shared: max(m.shared, other.shared), single: max(m.single, other.single)}
}

// treeMemory reads the memory of a process and its descendants. One that ends meanwhile counts as nothing.
func treeMemory(pid int) memory {
	var m memory
	for _, id := range tree(pid) {
		path := filepath.Join("/proc", strconv.Itoa(id), "smaps_rollup")
		m.shared += float64(kilobytes(procLine(path, "Pss"))) * 1024
		m.single += float64(kilobytes(procLine(path, "Rss"))) * 1024
	}
	return m
}

func tree(pid int) []int {
	all := []int{pid}
	lists, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid)) // the pattern is sound
	for _, list := range lists {
		text, err := os.ReadFile(list) //nolint:gosec // of /proc
		if err != nil {
			continue
		}
		for word := range strings.FieldsSeq(string(text)) {
			if child, err := strconv.Atoi(word); err == nil {
				all = append(all, tree(child)...)
			}
		}
	}
	return all
}

// sampleEvery is how often peakMemory looks.
const sampleEvery = 20 * time.Millisecond

// peakMemory is the most that was seen until ctx ended.
func peakMemory(ctx context.Context, pid int) memory {
	ticker := time.NewTicker(sampleEvery)
	defer ticker.Stop()
	var peak memory
	for {
		peak = peak.most(treeMemory(pid))
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return peak
		}
	}
}

// runs runs a program to its end; a status of 1 is an answer, too. With peak it also watches the memory.
func (e *env) runs(ctx context.Context, peak *memory, program string, arguments ...string) (answer string, status int, err error) {
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

// processorSeconds is the processor time that a process has used by itself so far.
func processorSeconds(pid int) float64 {
	const ticks = 100 // a second, on every Linux that Go runs on
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:])) // its name may hold blanks
	if len(fields) < 13 {
		return 0
	}
	user, _ := strconv.ParseFloat(fields[11], 64)   // digits
	system, _ := strconv.ParseFloat(fields[12], 64) // digits
	return (user + system) / ticks
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
	for _, pid := range tree(os.Getpid()) {
		c[pid] = processorSeconds(pid)
	}
	return c
}

// per says what was used since then, in shares.
func (c cost) per(shares float64) string {
	var own, others float64
	for pid, before := range c {
		used := (processorSeconds(pid) - before) / shares
		if pid == os.Getpid() {
			own = used
		} else {
			others += used
		}
	}
	return fmt.Sprintf("%.2f s here, %.2f s in the engine", own, others)
}
