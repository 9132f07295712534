package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"

	"github.com/tensortap/tensortap/analysis/pair/align"
	"github.com/tensortap/tensortap/schemas"
)

// alignOps is how many ops each of the two programs has, more or less.
const alignOps = 100_000

// measureAlign pairs the ops of two programs, as compare does once per pair of different programs.
func measureAlign(ctx context.Context, e *env) (section, error) {
	var s section
	ops := e.pick(alignOps, alignOps/10)
	for _, c := range []struct {
		what           string
		mark           float64
		problem, bench []align.Op
	}{
		{"in modules, one call in a thousand more or less", 1, program(ops, 0.001), program(ops, 0)},
		{"in modules, every third call another", 1, program(ops, 1./3), program(ops, 0)},
		{"without modules, one call in a thousand more or less", 1, loose(program(ops, 0.001)), loose(program(ops, 0))},
		{"the same, and nothing known of what calls were given", 1, unsigned(loose(program(ops, 0.001))), unsigned(loose(program(ops, 0)))},
		{"without modules, nothing in common but the names", 0, loose(shuffled(program(ops, 0))), loose(program(ops, 0))},
	} {
		took, allocated, err := e.align(ctx, c.problem, c.bench)
		if err != nil {
			return s, err
		}
		if e.quick {
			c.mark = 0 // it is meant for ten times as many ops
		}
		s.add(took.atMost(c.what, c.mark, milliseconds))
		s.add(allocated.atMost("allocated for it", 0, megabytes))
	}
	s.note("Two programs of about %d ops each, forward and backward, of 30 APIs, each given one of four things. Allocated is all that was taken while pairing, not what was held at once.", ops)
	s.note("The marks are one second. Without modules, as dumps of level L1 are, all calls are one sequence; where more than 512 of them differ its pairing is good, not the longest.")
	return s, nil
}

// align measures seconds and bytes.
func (e *env) align(ctx context.Context, problem, bench []align.Op) (took, allocated rounds, err error) {
	took, err = repeat(ctx, e.rounds, func() (float64, error) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		seconds, err := elapsed(func() error {
			if rows := align.Programs(problem, bench); len(rows) < max(len(problem), len(bench)) {
				return fmt.Errorf("%d rows of %d and %d ops", len(rows), len(problem), len(bench))
			}
			return nil
		})
		runtime.ReadMemStats(&after)
		allocated = append(allocated, float64(after.TotalAlloc-before.TotalAlloc))
		e.say("%s, %s", milliseconds(seconds), megabytes(allocated[len(allocated)-1]))
		return seconds, err
	})
	return took, allocated, err
}

// drawn makes a program of layers, each of modules that call ten APIs.
type drawn struct {
	random, other *rand.Rand
	counts        map[string]int64
	ops           []align.Op
	changed       float64
}

// program draws the same every time, but for the share of calls that are changed.
func program(ops int, changed float64) []align.Op {
	d := drawn{random: rand.New(rand.NewPCG(1, 1)), other: rand.New(rand.NewPCG(1, 2)), counts: map[string]int64{}, changed: changed}
	for layer := 0; len(d.ops) < ops/2; layer++ {
		for part := range 8 {
			d.module(fmt.Sprintf("model.layers.%d.part%d", layer, part))
		}
	}
	for _, op := range slices.Backward(d.ops) {
		op.Phase, op.ID = "backward", op.ID^1
		if op.ParentID != 0 {
			op.ParentID ^= 1
		}
		d.ops = append(d.ops, op)
	}
	return d.ops
}

func (d *drawn) module(path string) {
	module := align.Op{Level: "module", Prefix: "Module", ModulePath: path, ClassOrAPI: "Part", Phase: "forward", ID: schemas.OpID("Module."+path) &^ 1}
	for range 10 {
		api, given := fmt.Sprintf("api%d", d.random.IntN(30)), 1+d.random.Uint64N(4)
		if d.other.Float64() < d.changed {
			switch d.other.IntN(3) {
			case 0:
				continue // one less
			case 1:
				d.call(fmt.Sprintf("api%d", d.other.IntN(30)), given, module.ID) // one more
			case 2:
				api = fmt.Sprintf("api%d", d.other.IntN(30))
			}
		}
		d.call(api, given, module.ID)
	}
	d.ops = append(d.ops, module)
}

func (d *drawn) call(api string, given, parent uint64) {
	index := d.counts[api]
	d.counts[api]++
	d.ops = append(d.ops, align.Op{
		ID: schemas.OpID(fmt.Sprintf("Tensor.%s.%d", api, index)) &^ 1, ParentID: parent, Level: "api", Prefix: "Tensor", ClassOrAPI: api, CallIndex: index, Phase: "forward",
		Signature: given,
	})
}

// loose is the calls of a program without its modules.
func loose(ops []align.Op) []align.Op {
	var calls []align.Op
	for _, op := range ops {
		if op.Level != "module" {
			op.ParentID = 0
			calls = append(calls, op)
		}
	}
	return calls
}

// unsigned is the same calls as of a recording of structure alone.
func unsigned(ops []align.Op) []align.Op {
	for i := range ops {
		ops[i].Signature = 0
	}
	return ops
}

// shuffled is the same ops in an order that has nothing to do with theirs, forward ones before backward ones.
func shuffled(ops []align.Op) []align.Op {
	random := rand.New(rand.NewPCG(3, 3))
	half := len(ops) / 2
	for _, part := range [][]align.Op{ops[:half], ops[half:]} {
		random.Shuffle(len(part), func(i, j int) { part[i], part[j] = part[j], part[i] })
	}
	return ops
}
