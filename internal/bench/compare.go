package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"golang.org/x/sync/errgroup"
)

// compareOps is how many ops each of the two dumps has.
const compareOps = 30_400

// measureCompare runs the built program on two large dumps.
func measureCompare(ctx context.Context, e *env) (section, error) {
	var s section
	problem, bench, err := e.largeDumps(compareOps)
	if err != nil {
		return s, err
	}
	walls, err := repeat(ctx, e.rounds, func() (float64, error) {
		wall, err := elapsed(func() error { return e.compare(ctx, problem, bench, nil) })
		e.say("%.2f s", wall)
		return wall, err
	})
	if err != nil {
		return s, err
	}
	s.add(walls.atMost(fmt.Sprintf("`compare DIR DIR`, %d ops each", compareOps), 1.5, seconds))
	theirs, from, err := e.msprobeGraph(ctx, problem, bench)
	if err != nil {
		return s, err
	}
	var faster rounds
	for _, wall := range walls {
		faster = append(faster, theirs/wall)
	}
	s.add(faster.atLeast(fmt.Sprintf("faster than msProbe's graph comparison of the same files, %.1f s (%s)", theirs, from), 20, times))
	var shared, single rounds
	for range e.pick(3, 1) {
		var peak memory
		if err := e.compare(ctx, problem, bench, &peak); err != nil {
			return s, err
		}
		e.say("%.0f MB", peak.shared/1e6)
		shared, single = append(shared, peak.shared), append(single, peak.single)
	}
	s.add(shared.atMost("peak memory of all its processes (PSS)", 500e6, megabytes))
	s.add(single.atMost("the same, shared pages once per process (RSS)", 0, megabytes))
	s.note("The recorded dumps B02_weight_mix and B00_golden_mix, %d MB each, their ops repeated under new names; files in the page cache.", folderSize(problem)/1e6)
	s.note("Peaks are of rounds of their own, sampled every %v.", sampleEvery)
	return s, nil
}

// largeDumps makes the problem's and the bench's dump.
func (e *env) largeDumps(ops int) (problem, bench string, err error) {
	var made []string
	for _, name := range []string{"B02_weight_mix", "B00_golden_mix"} {
		root, err := e.unpack(name, e.folder)
		if err != nil {
			return "", "", err
		}
		to := filepath.Join(e.folder, "large", name)
		if err := enlarge(filepath.Join(root, "dump", "step0", "rank0"), filepath.Join(to, "step0", "rank0"), ops); err != nil {
			return "", "", fmt.Errorf("enlarge %s: %w", name, err)
		}
		made = append(made, to)
	}
	return made[0], made[1], nil
}

// compare runs the program, which must find that the dumps differ; with peak it also watches the memory.
func (e *env) compare(ctx context.Context, problem, bench string, peak *memory) error {
	command := exec.CommandContext(ctx, e.binary, "compare", problem, bench, "--engine", e.library) //nolint:gosec // our own
	var answer, complaint strings.Builder
	command.Stdout, command.Stderr = &answer, &complaint
	command.Env = append(os.Environ(), "TMPDIR="+e.folder)
	if err := command.Start(); err != nil {
		return err
	}
	watching, stop := context.WithCancel(ctx)
	var watch errgroup.Group
	if peak != nil {
		watch.Go(func() error { *peak = peakMemory(watching, command.Process.Pid); return nil })
	}
	err := command.Wait()
	stop()
	err = errors.Join(err, watch.Wait())
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && exit.ExitCode() == 1 && strings.Contains(answer.String(), "differ") {
		return nil
	}
	return fmt.Errorf("compare: %w: %s%s", err, answer.String(), complaint.String())
}

func folderSize(folder string) int64 {
	var size int64
	_ = filepath.WalkDir(folder, func(_ string, entry os.DirEntry, err error) error { // what is gone is 0 bytes
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		if err == nil {
			size += info.Size()
		}
		return err
	})
	return size
}
