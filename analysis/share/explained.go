package share

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"github.com/tensortap/tensortap/analysis/explain"
	"github.com/tensortap/tensortap/analysis/pair"
	"github.com/tensortap/tensortap/analysis/report"
	"github.com/tensortap/tensortap/analysis/result"
)

// before is how many ops before one are explained with it.
const before = 3

// partBytes is how much one part of explanations holds: a browser reads a part when its first op is opened.
const partBytes = 256 << 10

// elsewhere are the places of each op, by its name.
type elsewhere map[string][]result.OpStep

func (e elsewhere) add(at pair.Step, ops []op) {
	for i := range ops {
		o := &ops[i]
		step := result.OpStep{Rank: at.Rank, Step: at.Step, DifferingCount: o.differing, TensorCount: uint64(len(o.pairs)), GreatestError: math.NaN()} //nolint:gosec // a length
		if o.greatest != nil {
			step.GreatestError = o.greatest.Error
		}
		e[o.Op()] = append(e[o.Op()], step)
	}
}

// explanations are gathered until they make a part.
type explanations struct {
	w      *writer
	parts  map[string]int // by key
	ready  map[string]json.RawMessage
	bytes  int
	before int // bytes of all parts before the first explanation
}

// explain adds the explanations of the ops of the places, those that differ first, as far as they fit.
func (w *writer) explain(ctx context.Context, places []pair.Step) error {
	e := explanations{w: w, parts: map[string]int{}, ready: map[string]json.RawMessage{}, before: w.parts.size}
	for _, at := range places {
		if e.full() {
			break
		}
		ops, _, err := w.judged(ctx, at)
		if err != nil {
			return err
		}
		if err := e.place(at, ops); err != nil {
			return err
		}
	}
	if err := e.flush(); err != nil {
		return err
	}
	text, err := json.Marshal(e.parts)
	if err != nil {
		return err
	}
	w.index.Explained, err = w.parts.add(text)
	return err
}

func (e *explanations) full() bool { return e.w.parts.size-e.before > detailBytes }

// place explains the ops of a place: those that are not the same in both runs, then all others.
func (e *explanations) place(at pair.Step, ops []op) error {
	ordered := make([]int, len(ops)) // as they ran in the problem
	for i := range ordered {
		ordered[i] = i
	}
	slices.SortStableFunc(ordered, func(a, b int) int { return cmp.Compare(ops[a].seq, ops[b].seq) })
	for _, same := range []bool{false, true} {
		for n, i := range ordered {
			if len(ops[i].pairs) == 0 || same != (ops[i].verdict == "same") {
				continue
			}
			if err := e.op(at, ops, ordered[max(0, n-before):n+1]); err != nil || e.full() {
				return err
			}
		}
	}
	return nil
}

// op explains the last of these ops, which the others ran before.
func (e *explanations) op(at pair.Step, ops []op, chosen []int) error {
	o := &ops[chosen[len(chosen)-1]]
	pairs := slices.Clone(o.pairs)
	for _, i := range chosen[:len(chosen)-1] {
		pairs = append(pairs, ops[i].pairs...)
	}
	told := explain.Told(e.w.comparison.Job, o.Op(), at, pairs, before)
	told.Steps = e.w.elsewhere[o.Op()]
	explanation := report.Explanation{Problem: e.w.index.Problem, Bench: e.w.comparison.Said.Bench}
	told.Fill(&explanation)
	text, err := json.Marshal(explanation.Object())
	if err != nil {
		return err
	}
	e.ready[fmt.Sprintf("%d %d %s", at.Rank, at.Step, o.Op())] = text
	if e.bytes += len(text); e.bytes < partBytes {
		return nil
	}
	return e.flush()
}

// flush makes a part of what is ready.
func (e *explanations) flush() error {
	if len(e.ready) == 0 {
		return nil
	}
	text, err := json.Marshal(e.ready)
	if err != nil {
		return err
	}
	part, err := e.w.parts.add(text)
	for key := range e.ready {
		e.parts[key] = part
	}
	clear(e.ready)
	e.bytes = 0
	return err
}
