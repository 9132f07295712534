// Package corpus makes pairs of dumps of which is known what differs: faults,
// each with the place where it began, and pairs that differ in nothing that
// matters. They are made out of dumps that msProbe recorded, changed as the
// fault would have changed them, and are the same every time.
package corpus

import (
	"fmt"
	"slices"
	"strings"
)

// Case is a pair of runs, and what is known of it.
type Case struct {
	ID       string
	What     string // what was done, or what is wrong in the model of a recorded pair
	Mode     string // statistics, md5, tensor, xor, or statistics with sketch
	Recorded bool   // both sides are as msProbe wrote them
	Harmless bool
	Problem  Side
	Bench    Side
	Touched  []Site // where the fault itself is, not what follows from it
	Origin   Origin // where it began; without ops when the evidence does not show it
	Hidden   string // why the recorded evidence does not show it; empty when it does
	Small    bool   // it is hidden since it is within the tolerance
	OfRun    string // the property of the runs that tells, where the fault is in all of a run and begins nowhere
	Shaped   string // what is of another structure in a harmless pair, which is said; empty when nothing is
	Missing  bool   // data of the problem is lost, so that no answer is possible for a part
}

// Side is one run of a pair. Cases share sides.
type Side struct {
	Name    string
	Run     *Run
	Vectors map[Site][]float32 // elements of tensors that get a sketch; nil for what msProbe records
	Digests bool               // those get a digest too
}

// Site is a row of a run: of the problem, or of the bench when only that has it.
type Site struct {
	Rank, Step     int
	Op, Role, Path string
}

// Origin is where a fault began: any of these ops on any of these ranks is right.
type Origin struct {
	Ranks []int
	Step  int
	Ops   []string
	Kinds []string // parameter, argument, data, computed, operation; any when empty
}

// Library has the recorded dumps that cases are made of.
type Library struct {
	load  func(name string) (*Run, error)
	bases map[string]Side
}

// NewLibrary makes cases out of what load returns for the name of a recorded dump.
func NewLibrary(load func(name string) (*Run, error)) *Library {
	return &Library{load: load, bases: map[string]Side{}}
}

// Recorded is a recorded run as it is.
func (l *Library) Recorded(name string) (Side, error) { return l.base(name) }

// base is a recorded run; steps, where given, are those that are kept of it. It must not be changed.
func (l *Library) base(recorded string, steps ...int) (Side, error) {
	name := recorded
	if len(steps) > 0 {
		name += fmt.Sprintf(" steps %v", steps)
	}
	if side, ok := l.bases[name]; ok {
		return side, nil
	}
	run, err := l.load(recorded)
	if err != nil {
		return Side{}, fmt.Errorf("load recorded dump %s: %w", recorded, err)
	}
	if len(steps) > 0 {
		run.Parts = slices.DeleteFunc(run.Parts, func(p *Part) bool { return !slices.Contains(steps, p.Step) })
	}
	l.bases[name] = Side{Name: name, Run: run}
	return l.bases[name], nil
}

// making is a case while it is made: the problem is a copy of the bench that gets its fault.
type making struct {
	Case
	error float64                                      // relative error of what follows
	spoil func(n *Node, relative float64, seed string) // what becomes of what follows; nil for noise
}

func (m *making) flow(p *Part) *flow {
	f := newFlow(p, m.error)
	if m.spoil != nil {
		f.spoil = m.spoil
	}
	return f
}

// touch notes that the fault is at a row.
func (m *making) touch(s Site) { m.Touched = append(m.Touched, s) }

// fault is what becomes of one row of an op; place is `role path`.
type fault struct {
	place string
	how   func(*Node)
}

// each is the same fault at several places.
func each(how func(*Node), places ...string) []fault {
	var faults []fault
	for _, place := range places {
		faults = append(faults, fault{place, how})
	}
	return faults
}

// change puts a fault into rows of one op at the first step and lets it take its course.
func (m *making) change(rank int, op string, how func(*Node), places ...string) {
	m.apply(rank, op, each(how, places...))
}

// apply puts faults into rows of one op and lets them take their course on that rank and, through what ranks share, on
// the others.
func (m *making) apply(rank int, op string, faults []fault) {
	part := m.Problem.Run.Part(rank, 0)
	f := m.flow(part)
	for _, one := range faults {
		role, path, _ := strings.Cut(one.place, " ")
		node := part.At(op, role, path).Node
		before := node.Clone()
		one.how(node)
		if before.Get("dtype") != nil {
			f.wrong(before, node)
		}
		f.sources[node] = true
		m.touch(Site{rank, 0, op, role, path})
	}
	f.run(part, op)
	m.spread(rank)
	m.began(rank, op)
}

// alter changes rows of rank 0 and nothing that follows.
func (m *making) alter(op string, how func(*Node), places ...string) {
	part := m.Problem.Run.Part(0, 0)
	for _, place := range places {
		role, path, _ := strings.Cut(place, " ")
		how(part.At(op, role, path).Node)
		m.touch(Site{0, 0, op, role, path})
	}
	m.began(0, op)
}

// began says where the fault began, unless that is known already.
func (m *making) began(rank int, op string) {
	if len(m.Origin.Ops) == 0 {
		m.Origin.Ranks, m.Origin.Ops = []int{rank}, []string{op}
	}
}

// spread carries what one rank got wrong to the others, through reduced tensors.
func (m *making) spread(from int) {
	was, is := m.Bench.Run.Part(from, 0), m.Problem.Run.Part(from, 0)
	shared := map[string]*Node{}
	ops := is.Ops()
	for i, op := range ops.Keys {
		entry := was.Ops().Get(op)
		if entry == nil || !strings.HasPrefix(op, "Distributed.") && !strings.HasPrefix(op, "Tensor.add_.") {
			continue
		}
		before, after := Leaves(op, entry), Leaves(op, ops.Items[i])
		for j, l := range after {
			sharedRow := l.Role == "output" || l.Path == "1"
			if j < len(before) && sharedRow && tensor(before[j].Node) && fingerprint(before[j].Node) != fingerprint(l.Node) {
				shared[fingerprint(before[j].Node)] = l.Node.Clone()
			}
		}
	}
	for _, p := range m.Problem.Run.Parts {
		if p.Step == 0 && p.Rank() != from {
			f := m.flow(p)
			f.changed = shared
			f.run(p, "")
		}
	}
}
