package explain

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/tensortap/tensortap/analysis/rows"
	"github.com/tensortap/tensortap/schemas"
)

// match is by what an op is like a name, the best first.
type match int

const (
	byName match = iota
	byModule
	byPart
	byNearness
)

// named is an op that may be meant by a name.
type named struct {
	op        *schemas.OpRow
	inProblem bool
	by        match
	distance  float64
}

// candidates is how many ops are listed, nearest how many where none has the name, otherNames how many beside the one
// that is taken.
const (
	candidates = 20
	nearest    = 5
	otherNames = 3
)

// found is the op that is meant.
type found struct {
	op         string
	others     []string
	otherCount int
}

// NameError says that a name means no op, or more than one; who asked is to give another.
type NameError struct{ text string }

// Error implements error.
func (e *NameError) Error() string { return e.text }

func unnamed(format string, values ...any) *NameError {
	return &NameError{fmt.Sprintf(format, values...)}
}

// findOp finds which op of two runs is meant by a name. Its error lists those that may be.
func findOp(problem, bench *rows.Run, definitions *rows.Definitions, name string) (found, error) {
	if calls(problem, definitions, name) || calls(bench, definitions, name) {
		return found{op: name}, nil // no need to look at all names
	}
	best, modules := alike(matches(problem, bench, definitions, name))
	if len(best) == 0 {
		return found{}, unnamed("neither %s nor %s has an op", problem.Name, bench.Name)
	}
	var shown []string
	for _, one := range best[:min(len(best), candidates)] {
		shown = append(shown, one.op.Name)
	}
	switch by := best[0].by; {
	case by == byNearness:
		return found{}, unnamed("neither %s nor %s has an op or a module with %q in its name; the nearest are:\n  %s",
			problem.Name, bench.Name, name, strings.Join(shown[:min(len(shown), nearest)], "\n  "))
	case by == byPart && len(best) > 1, by == byModule && modules > 1:
		return found{}, unnamed("%d ops have %q in the name of them or of their module, give one of:\n  %s%s",
			len(best), name, strings.Join(shown, "\n  "), andMore(len(best)-len(shown)))
	case by == byModule:
		return found{shown[0], shown[1:min(len(shown), 1+otherNames)], len(best) - 1}, nil
	}
	return found{op: shown[0]}, nil
}

// calls says whether a program of the run has an op of exactly that name.
func calls(run *rows.Run, definitions *rows.Definitions, name string) bool {
	op := schemas.OpID(name)
	looked := map[uint64]bool{}
	for i := range run.Steps {
		program := run.Steps[i].ProgramID
		if looked[program] {
			continue
		}
		looked[program] = true
		if _, has := definitions.Call(program, op); has && definitions.Op(op).Name == name {
			return true
		}
	}
	return false
}

func andMore(n int) string {
	if n <= 0 {
		return ""
	}
	return fmt.Sprintf("\n  and %d more", n)
}

// alike are the ops that match like the first, and in how many modules those are.
func alike(ordered []named) (best []named, modules int) {
	paths := map[string]bool{}
	for i := range ordered {
		if ordered[i].by != ordered[0].by {
			break
		}
		best = append(best, ordered[i])
		paths[ordered[i].op.ModulePath] = true
	}
	return best, len(paths)
}

// matches are the ops of two runs, the best match first.
func matches(problem, bench *rows.Run, definitions *rows.Definitions, name string) []named {
	distance := newDistance(name)
	var list []named
	for op, inProblem := range opsOf(problem, bench, definitions) {
		if op.Name == "" {
			continue
		}
		one := named{op: op, inProblem: inProblem, by: matchOf(op, name)}
		if one.by == byNearness {
			one.distance = distance.to(op.Name)
		}
		list = append(list, one)
	}
	slices.SortFunc(list, func(a, b named) int {
		return cmp.Or(cmp.Compare(a.by, b.by), first(a.inProblem, b.inProblem), cmp.Compare(a.distance, b.distance),
			first(a.op.Phase == "forward", b.op.Phase == "forward"), cmp.Compare(a.op.CallIndex, b.op.CallIndex), cmp.Compare(a.op.Name, b.op.Name))
	})
	return list
}

func matchOf(op *schemas.OpRow, name string) match {
	switch {
	case op.Name == name:
		return byName
	case op.ModulePath != "" && (op.ModulePath == name || strings.HasSuffix(op.ModulePath, "."+name)):
		return byModule
	case strings.Contains(lower(op.Name), lower(name)):
		return byPart
	}
	return byNearness
}

// lower changes letters of ASCII only, as the database does.
func lower(text string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'A' && r <= 'Z' {
			return r - 'A' + 'a'
		}
		return r
	}, text)
}

// opsOf are the ops of two runs, and whether the problem has each. An op whose step has not ended is in no program yet, so
// that nothing tells which of the runs has it: it is taken for the problem's.
func opsOf(problem, bench *rows.Run, definitions *rows.Definitions) map[*schemas.OpRow]bool {
	ops, placed := map[*schemas.OpRow]bool{}, map[uint64]bool{}
	for _, program := range definitions.Programs {
		for i := range program {
			placed[program[i].OpID] = true
		}
	}
	for _, site := range definitions.Sites {
		if op := definitions.Ops[site.OpID]; op != nil && !placed[site.OpID] {
			ops[op] = true
		}
	}
	for _, run := range []*rows.Run{bench, problem} {
		for i := range run.Steps {
			for _, call := range definitions.Programs[run.Steps[i].ProgramID] {
				if op := definitions.Ops[call.OpID]; op != nil {
					ops[op] = ops[op] || run == problem
				}
			}
		}
	}
	return ops
}
