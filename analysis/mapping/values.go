package mapping

import (
	"strings"

	"github.com/tensortap/tensortap/internal/strictyaml"
	"github.com/tensortap/tensortap/schemas"
)

// valueRule is a line that says which value of a module of the problem is which value of a module of the bench, in
// forward, whatever the classes of the modules.
type valueRule struct {
	problem, bench           *pattern // of the path of the module
	problemPlace, benchPlace tensorPlace
	stream                   bool // the value is a residual stream
	line                     int
}

func (m *Map) readValue(f strictyaml.Field) error  { return m.readPlaces(f, false) }
func (m *Map) readStream(f strictyaml.Field) error { return m.readPlaces(f, true) }

func (m *Map) readPlaces(f strictyaml.Field, stream bool) error {
	key, value, err := texts(f)
	if err != nil {
		return err
	}
	r := valueRule{stream: stream}
	var paths [2]string
	for i, side := range []struct {
		text  string
		node  strictyaml.Node
		place *tensorPlace
	}{{key, f.Key, &r.problemPlace}, {value, f.Value, &r.benchPlace}} {
		path, place, found := strings.Cut(side.text, " ")
		if *side.place = placeFrom(place); !found || side.place.role == "" || side.place.path == "" {
			return side.node.Errorf("%q names no value: want a module, a blank, then input, kwarg, output or parameter and its place, as input.0", side.text)
		}
		paths[i] = path
	}
	if r.problem, r.bench, err = pairPatterns(paths[0], paths[1]); err != nil {
		return f.Key.Errorf("%v", err)
	}
	r.line = m.line(f)
	m.values = append(m.values, r)
	return nil
}

// placeFrom reads a role and, behind a dot, a place in it. The role is empty where there is none of that name.
func placeFrom(text string) tensorPlace {
	role, path, _ := strings.Cut(text, ".")
	switch role {
	case roleInput, roleKwarg, roleOutput, roleParameter:
		return tensorPlace{role: role, path: path}
	}
	return tensorPlace{}
}

// moduleCall is a call of a module in forward.
type moduleCall struct {
	path string
	call int64
}

// calls are the forward calls of the modules of a run.
func (v *view) calls(of names) map[moduleCall]uint64 {
	calls := map[moduleCall]uint64{}
	for id := range of.ops {
		if op := v.recorded.Ops[id]; isForward(op) {
			calls[moduleCall{op.ModulePath, op.CallIndex}] = id
		}
	}
	return calls
}

func isForward(op *schemas.OpRow) bool {
	return op != nil && op.Level == schemas.LevelModule && op.Phase == schemas.PhaseForward
}

// nameValues pairs the values that lines name in both runs. The first line that finds a value of the problem and one of
// the bench counts for either.
func (v *view) nameValues(n *named, problem, bench names, renamed map[uint64]uint64) {
	if len(v.rules.values) == 0 {
		return
	}
	beside := v.calls(bench)
	for id := range problem.ops {
		op := v.recorded.Ops[id]
		if !isForward(op) {
			continue
		}
		for i := range v.rules.values {
			r := &v.rules.values[i]
			found, ok := r.problem.find(op.ModulePath)
			if !ok || found.rest != "" {
				continue
			}
			if partner, called := beside[moduleCall{fill(r.bench.text, found.texts), op.CallIndex}]; called {
				v.nameValue(n, r, id, seenAs(renamed, id), partner)
			}
		}
	}
}

func seenAs(renamed map[uint64]uint64, id uint64) uint64 {
	if to, ok := renamed[id]; ok {
		return to
	}
	return id
}

func (v *view) nameValue(n *named, r *valueRule, recorded, seen, partner uint64) {
	if !v.has(recorded, r.problemPlace) || !v.has(partner, r.benchPlace) {
		return
	}
	own, other := schemas.SiteID(seen, r.problemPlace.role, r.problemPlace.path), schemas.SiteID(partner, r.benchPlace.role, r.benchPlace.path)
	if _, taken := n.sites[other]; taken || n.partners[own] {
		return
	}
	n.sites[other], n.partners[own] = own, true
	n.lines[r.line]++
	if !r.stream {
		return
	}
	n.streams[own] = true
	v.leaveParts(n.apart[0], r.problemPlace, recorded, seen)
	v.leaveParts(n.apart[1], r.benchPlace, partner, partner)
}

func (v *view) has(op uint64, at tensorPlace) bool {
	_, ok := v.recorded.Sites[schemas.SiteID(op, at.role, at.path)]
	return ok
}

// StreamParts is why the inputs of a module that adds a residual stream up are compared with nothing: the other run has
// the sum alone, and statistics of parts do not give those of their sum.
const StreamParts = "parts of residual streams"

// leaveParts sets the inputs of a module apart that gives a residual stream, and so has added it up.
func (v *view) leaveParts(apart map[uint64]string, stream tensorPlace, recorded, seen uint64) {
	if stream.role != roleOutput {
		return
	}
	for _, id := range v.sites[recorded] {
		if site := v.recorded.Sites[id]; site.Role == roleInput {
			apart[schemas.SiteID(seen, site.Role, site.Path)] = StreamParts
		}
	}
}

// Rules is the map.
func (s *Source) Rules() *Map { return s.rules }

// Way is how two tensors came to stand beside each other.
type Way uint8

// The ways: by the names of their modules, joined of several, as a residual stream.
const (
	ByName Way = iota
	Joined
	Stream
)

// Way says how the tensors at two sites came to stand beside each other.
func (s *Source) Way(problem, bench uint64) Way {
	switch {
	case s.named.streams[problem]:
		return Stream
	case s.wholes[s.definitions.Sites[problem].OpID] || s.wholes[s.definitions.Sites[bench].OpID]:
		return Joined
	}
	return ByName
}

// JoinedParts are the lists of parts that lines of the map joined in these runs, in its order, each once.
func (s *Source) JoinedParts() [][]string {
	var lists [][]string
	seen := map[string]bool{}
	for i := range s.rules.modules {
		r := &s.rules.modules[i]
		for _, side := range []*pattern{r.problem, r.bench} {
			if key := strings.Join(side.parts, ","); side.joins() && s.uses[r.line].Pairs > 0 && !seen[key] {
				seen[key] = true
				lists = append(lists, side.parts)
			}
		}
	}
	return lists
}
