package msprobeoverflow

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/tensortap/tensortap/analysis/msprobe/internal/arguments"
	"github.com/tensortap/tensortap/analysis/rows"
	"github.com/tensortap/tensortap/internal/steps"
)

// Run writes where NaN or infinity began as msProbe's overflow_check does, of
// the first step where its rules find anything, and says whether they do: if
// not, it writes nothing, as msProbe then has no file.
func Run(ctx context.Context, source rows.Source, name string, wanted steps.Set, to io.Writer) (found bool, err error) {
	run, err := source.Run(ctx, name)
	if err != nil {
		return false, fmt.Errorf("read run %s: %w", name, err)
	}
	j := &job{source: source, run: run, definitions: source.Definitions()}
	j.lister = arguments.NewLister(j.definitions, func(uint64) bool { return false })
	step, origins, err := j.first(ctx, j.places(wanted))
	if err != nil || len(origins) == 0 {
		return false, err
	}
	return true, j.write(ctx, to, step, origins)
}

// job is a search that is under way.
type job struct {
	source      rows.Source
	run         *rows.Run
	definitions *rows.Definitions
	lister      *arguments.Lister
}

// places are the steps that ended, by step, then rank.
func (j *job) places(wanted steps.Set) []rows.Place {
	var places []rows.Place
	for i := range j.run.Steps {
		if s := &j.run.Steps[i]; wanted.Contains(int64(s.Step)) {
			places = append(places, rows.Place{Rank: s.Rank, Step: s.Step})
		}
	}
	slices.SortFunc(places, func(a, b rows.Place) int {
		return cmp.Or(cmp.Compare(a.Step, b.Step), cmp.Compare(a.Rank, b.Rank))
	})
	return places
}

// first are the origins in the first step that has any. It holds the ops of one step, and the tensors of one window.
func (j *job) first(ctx context.Context, places []rows.Place) (step uint32, origins []Origin, err error) {
	weight := j.run.Weights()
	var ops []Op
	for _, window := range rows.Windows(places, func(at rows.Place) uint64 { return weight[at] }) {
		tensors, err := j.source.Tensors(ctx, j.run, window)
		if err != nil {
			return 0, nil, fmt.Errorf("read run %s: %w", j.run.Name, err)
		}
		for _, at := range window {
			if at.Step != step {
				if origins := Find(ops); len(origins) > 0 {
					return step, origins, nil
				}
				step, ops = at.Step, nil
			}
			ops = append(ops, j.ops(at, tensors[at])...)
		}
	}
	return step, Find(ops), nil
}

// ops are those of a place, in the order in which they ran.
func (j *job) ops(at rows.Place, tensors *rows.Tensors) []Op {
	var ops []Op
	known := map[string]int{}
	named := []peers{}
	for _, a := range j.lister.List(j.run.StepAt(at).ProgramID, tensors) {
		i, found := known[a.Op]
		if !found {
			i = len(ops)
			known[a.Op] = i
			ops, named = append(ops, Op{Rank: at.Rank, Name: a.Op}), append(named, peers{})
		}
		ops[i].add(&a)
		named[i].add(&a)
	}
	for i := range ops {
		ops[i].Source, ops[i].Destination, ops[i].Group = wholeNumber(named[i].source), wholeNumber(named[i].destination), numbers(named[i].group)
	}
	return ops
}

// add looks at the first level of inputs and outputs.
func (o *Op) add(a *arguments.Argument) {
	if a.Path == "" || strings.Contains(a.Path, ".") {
		return
	}
	bad := a.IsTensor && (isBad(a.Statistics[arguments.Max]) || isBad(a.Statistics[arguments.Min]))
	switch a.Role {
	case "input", "kwarg":
		o.InputBad = o.InputBad || bad
	case "output":
		o.OutputBad = o.OutputBad || bad
	}
	if a.Role == "input" && a.Dtype == "<class 'int'>" {
		n, err := strconv.ParseInt(a.Value, 10, 64)
		if err != nil {
			n = 0
		}
		o.Numbers = append(o.Numbers, n)
	}
}

func isBad(n arguments.Number) bool {
	return n.Known && (math.IsNaN(n.Value) || math.IsInf(n.Value, 0))
}

// peers are the ranks that the keyword arguments of a call name, as printed. Of several the last in their order counts.
type peers struct{ source, destination, group string }

func (p *peers) add(a *arguments.Argument) {
	if a.Role != "kwarg" {
		return
	}
	switch a.Path {
	case "src", "src_group":
		p.source = max(p.source, a.Value)
	case "dst", "dst_group":
		p.destination = max(p.destination, a.Value)
	case "group":
		p.group = max(p.group, a.Value)
	}
}

func wholeNumber(text string) *int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return nil
	}
	return &n
}

func numbers(list string) []int64 {
	var found []int64
	if json.Unmarshal([]byte(list), &found) != nil {
		return nil
	}
	return found
}
