package mapping

import (
	"cmp"
	"slices"
	"strings"

	"github.com/tensortap/tensortap/analysis/rows"
	"github.com/tensortap/tensortap/schemas"
)

// name is an op of the problem by the name of the bench, and the line that says so, -1 where none does; its full name
// and id stay.
func (m *Map) name(op *schemas.OpRow, classes map[string]string) (schemas.OpRow, int) {
	named, line := *op, -1
	switch op.Level {
	case schemas.LevelModule:
		var lines []int
		named.ModulePath, lines = m.module(op.ModulePath, cmp.Or(op.ClassOrAPI, classes[op.ModulePath]), classes)
		if len(lines) > 0 {
			line = lines[len(lines)-1]
		}
	case schemas.LevelAPI, schemas.LevelCollective:
		var to string
		if to, line = m.api(op.Prefix + "." + op.ClassOrAPI); to != "" {
			named.Prefix, named.ClassOrAPI, _ = strings.Cut(to, ".")
		}
	}
	return named, line
}

// module is the path of a module by the name of the bench, and the lines that say so.
func (m *Map) module(path, class string, classes map[string]string) (string, []int) {
	switch {
	case len(m.cells) > 0:
		name, lines := m.renameCell(path, class)
		if len(lines) == 0 {
			return path, nil
		}
		path, _ := cutLast(name)
		return path, lines
	case len(m.layers) > 0:
		return m.renameLayers(path, classes)
	}
	return m.matched(path)
}

// matched is the path by the line that covers the most of it; of equals, by the first.
func (m *Map) matched(path string) (name string, lines []int) {
	name = path
	rest := len(path) + 1
	for n := range m.modules {
		rule := &m.modules[n]
		found, ok := rule.problem.find(path)
		if !ok || rule.problem.joins() || len(found.rest) >= rest {
			continue
		}
		rest = len(found.rest)
		name, lines = rule.common(found.texts)+found.rest, []int{rule.line}
	}
	return name, lines
}

// joins says whether any line joins parts.
func (m *Map) joins() bool {
	return slices.ContainsFunc(m.modules, func(r moduleRule) bool { return r.problem.joins() || r.bench.joins() })
}

// api is an API by the name of the bench, and the line that says so; empty where none does.
func (m *Map) api(name string) (string, int) {
	if i := slices.IndexFunc(m.apis, func(r apiRule) bool { return r.problem == name }); i >= 0 {
		return m.apis[i].bench, m.apis[i].line
	}
	if m.Kind == API {
		if to := mindspore(name); to != name {
			return to, -1
		}
	}
	return "", -1
}

// counted counts for each line the names of either run that it fits, and the pairs it made.
func (v *view) counted(recorded []*rows.Run) []Use {
	uses := make([]Use, len(v.rules.Lines))
	for i, line := range v.rules.Lines {
		uses[i].Line = line
	}
	problem, bench := v.namesOf(recorded[0]), v.namesOf(recorded[1])
	joined := v.commonNames(bench)
	for path, class := range problem.classes {
		name, lines := v.rules.module(path, class, problem.classes)
		for _, line := range lines {
			uses[line].Problem++
			if bench.has(name) || joined[name] {
				uses[line].Bench++
				uses[line].Pairs++
			}
		}
	}
	v.countJoins(uses, problem, bench)
	v.countAPIs(uses, problem, bench)
	v.countExact(uses, problem, bench)
	return uses
}

// commonNames are the names of joined parts of the bench.
func (v *view) commonNames(bench names) map[string]bool {
	joined := map[string]bool{}
	for n := range v.rules.modules {
		rule := &v.rules.modules[n]
		if !rule.bench.joins() {
			continue
		}
		for path := range bench.classes {
			if found, ok := rule.bench.find(path); ok {
				joined[rule.common(found.texts)+found.rest] = true
			}
		}
	}
	return joined
}

// countJoins counts groups of the problem's parts, whose lines match no module by themselves.
func (v *view) countJoins(uses []Use, problem, bench names) {
	for n := range v.rules.modules {
		rule := &v.rules.modules[n]
		if !rule.problem.joins() {
			continue
		}
		found := map[string]int{}
		for path := range problem.classes {
			if m, ok := rule.problem.find(path); ok && m.rest == "" {
				found[rule.common(m.texts)]++
			}
		}
		use := &uses[rule.line]
		for name, parts := range found {
			use.Problem += parts
			if bench.has(name) {
				use.Bench++
			}
			if bench.has(name) && parts == len(rule.problem.parts) {
				use.Pairs++
			}
		}
	}
}

func (v *view) countAPIs(uses []Use, problem, bench names) {
	apis := [2]map[string]int{v.apisOf(problem), v.apisOf(bench)}
	for _, r := range v.rules.apis {
		use := &uses[r.line]
		use.Problem, use.Bench = apis[0][r.problem], apis[1][r.bench]
		use.Pairs = min(use.Problem, use.Bench)
	}
}

// apisOf counts the ops of each API.
func (v *view) apisOf(of names) map[string]int {
	count := map[string]int{}
	for id := range of.ops {
		if op := v.recorded.Ops[id]; op != nil && op.Level != schemas.LevelModule {
			count[op.Prefix+"."+op.ClassOrAPI]++
		}
	}
	return count
}

func (v *view) countExact(uses []Use, problem, bench names) {
	for i := range v.rules.exact {
		r := &v.rules.exact[i]
		use := &uses[r.line]
		for id := range problem.ops {
			op := v.recorded.Ops[id]
			if op == nil {
				continue
			}
			found, ok := r.problem.find(op.Name)
			if !ok || found.rest != "" {
				continue
			}
			use.Problem++
			if bench.ops[schemas.OpID(fill(r.bench.text, found.texts))] {
				use.Bench++
				use.Pairs++
			}
		}
	}
}
