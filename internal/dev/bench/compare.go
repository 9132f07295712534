package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/tensortap/tensortap/internal/dev/processes"
)

// comparison is a size of which two dumps are compared, and what it may cost.
type comparison struct {
	ops, ranks, steps int
	seconds           float64 // mark
	bytes             float64 // mark of the memory; 0 for none
	msprobe           float64 // how many times faster than msProbe's graph comparison; 0: not held against it
}

func comparisons() []comparison {
	return []comparison{
		{ops: 620, ranks: 1, steps: 1, seconds: 0.15, bytes: 100e6},
		{ops: 30_400, ranks: 1, steps: 1, seconds: 0.6, bytes: 250e6, msprobe: 60},
		{ops: 620, ranks: 4, steps: 10, seconds: 0.6},
		{ops: 5_000, ranks: 4, steps: 10, seconds: 3, bytes: 400e6},
	}
}

func (c comparison) words() string {
	if c.ranks*c.steps == 1 {
		return fmt.Sprintf("`compare DIR DIR`, %d ops each", c.ops)
	}
	return fmt.Sprintf("`compare DIR DIR`, %d ranks × %d steps × %d ops each", c.ranks, c.steps, c.ops)
}

// measureCompare runs the built program on two dumps of each size, and by turns the program of before.
func measureCompare(ctx context.Context, e *env) (section, error) {
	var s section
	for _, c := range comparisons() {
		if e.quick && c.ops*c.ranks*c.steps > 30_400 {
			continue
		}
		if err := e.measureComparison(ctx, c, &s); err != nil {
			return s, fmt.Errorf("%s: %w", c.words(), err)
		}
	}
	s.note("The recorded dumps B02_weight_mix and B00_golden_mix, their ops repeated under new names, copied for each rank and step; files in the page cache.")
	s.note("Peaks are of rounds of their own, sampled every %v. The program of before is the one that `-before` names, run by turns with this one.", sampleEvery)
	return s, nil
}

func (e *env) measureComparison(ctx context.Context, c comparison, s *section) error {
	problem, bench, err := e.largeDumps(c)
	if err != nil {
		return err
	}
	defer os.RemoveAll(filepath.Dir(problem)) //nolint:errcheck // scratch
	var walls, before, ratio rounds
	for range e.rounds {
		wall, err := elapsed(func() error { return e.compare(ctx, e.binary, problem, bench, nil) })
		if err != nil {
			return err
		}
		walls = append(walls, wall)
		e.say("%.3f s", wall)
		if e.before == "" {
			continue
		}
		old, err := elapsed(func() error { return e.compare(ctx, e.before, problem, bench, nil) })
		if err != nil {
			return err
		}
		before, ratio = append(before, old), append(ratio, old/wall)
	}
	s.add(walls.atMost(c.words(), c.seconds, seconds))
	if e.before != "" {
		s.add(before.atMost("the program of before", 0, seconds))
		s.add(ratio.atLeast("ratio", 0, times))
	}
	if err := e.measureMsprobe(ctx, c, s, walls, [2]string{problem, bench}); err != nil {
		return err
	}
	return e.measureMemory(ctx, c, s, problem, bench)
}

func (e *env) measureMsprobe(ctx context.Context, c comparison, s *section, walls rounds, dumps [2]string) error {
	if c.msprobe == 0 {
		return nil
	}
	theirs, from, err := e.msprobeGraph(ctx, dumps[0], dumps[1])
	if err != nil {
		return err
	}
	var faster rounds
	for _, wall := range walls {
		faster = append(faster, theirs/wall)
	}
	s.add(faster.atLeast(fmt.Sprintf("faster than msProbe's graph comparison of the same files, %.1f s (%s)", theirs, from), c.msprobe, times))
	return nil
}

func (e *env) measureMemory(ctx context.Context, c comparison, s *section, problem, bench string) error {
	if c.bytes == 0 {
		return nil
	}
	var shared, single rounds
	for range e.pick(3, 1) {
		var peak processes.Memory
		if err := e.compare(ctx, e.binary, problem, bench, &peak); err != nil {
			return err
		}
		e.say("%.0f MB", peak.Shared/1e6)
		shared, single = append(shared, peak.Shared), append(single, peak.Single)
	}
	s.add(shared.atMost("peak memory of all its processes (PSS)", c.bytes, megabytes))
	s.add(single.atMost("the same, shared pages once per process (RSS)", 0, megabytes))
	return nil
}

// largeDumps makes the problem's and the bench's dump.
func (e *env) largeDumps(c comparison) (problem, bench string, err error) {
	var made []string
	for _, name := range []string{"B02_weight_mix", "B00_golden_mix"} {
		root, err := e.unpack(name, e.folder)
		if err != nil {
			return "", "", err
		}
		to := filepath.Join(e.folder, fmt.Sprintf("large_%d_%d_%d", c.ops, c.ranks, c.steps), name)
		first := filepath.Join(to, "step0", "rank0")
		if err := enlarge(filepath.Join(root, "dump", "step0", "rank0"), first, c.ops); err != nil {
			return "", "", fmt.Errorf("enlarge %s: %w", name, err)
		}
		if err := multiply(first, to, c.ranks, c.steps); err != nil {
			return "", "", err
		}
		made = append(made, to)
	}
	return made[0], made[1], nil
}

// multiply copies the folder of one rank and step for all others.
func multiply(first, to string, ranks, steps int) error {
	for step := range steps {
		for rank := range ranks {
			folder := filepath.Join(to, fmt.Sprintf("step%d", step), fmt.Sprintf("rank%d", rank))
			if folder == first {
				continue
			}
			if err := os.CopyFS(folder, os.DirFS(first)); err != nil {
				return err
			}
		}
	}
	return nil
}

// compare runs a program, which must find that the dumps differ; with peak it also watches the memory.
func (e *env) compare(ctx context.Context, program, problem, bench string, peak *processes.Memory) error {
	answer, status, err := e.runs(ctx, peak, program, "compare", problem, bench, "--engine", e.library)
	if err == nil && (status != 1 || !strings.Contains(answer, "differ")) {
		err = fmt.Errorf("compare: status %d, want that the dumps differ: %s", status, answer)
	}
	return err
}
