// Package model holds the protocols that keep events, small enough to try every order of their steps, and every crash
// between two of them: how a message gets from a publisher through the stream into a database ([Delivery]), and how it
// gets into the archive of files ([Archive]).
//
// A state is a value that can be compared. A search visits each state that can be reached, once. In each the rules
// must hold, and from each there must be a way to the end of all work. Then each guard of the protocol is left out in
// turn, and the search must find a rule broken: a guard that can be left out is none, and a rule that nothing can
// break says nothing.
//
// A model is not the program. What holds here holds there as long as the program does these steps in this order;
// e2e/simulation runs the program itself.
package model

import "slices"

// Search is a protocol to be searched.
type Search[S comparable] struct {
	First  S
	Next   func(s S, to func(step string, next S)) // gives every step that is possible
	Broken func(s S) string                        // the rule that the state breaks, or nothing
	Ended  func(s S) bool                          // all work is done
}

// Outcome is what a search found.
type Outcome struct {
	States int
	Broken string   // the rule, or nothing
	Steps  []string // the shortest way there
}

// stuck is the rule that work ends.
const stuck = "all work can end"

// visited are the states found so far, in the order of their distance from the first.
type visited[S comparable] struct {
	numbers map[S]int32
	states  []S
	from    []int32  // the state before it
	by      []string // the step from there
	before  []edge
}

type edge struct{ from, to int32 }

// Run visits all states, or ends at the first that breaks a rule.
func (p Search[S]) Run() Outcome {
	v := &visited[S]{numbers: map[S]int32{}}
	v.add(p.First, -1, "")
	for i := 0; i < len(v.states); i++ { //nolint:intrange // it grows meanwhile
		s := v.states[i]
		if rule := p.Broken(s); rule != "" {
			return v.outcome(i, rule)
		}
		p.Next(s, func(step string, next S) { v.add(next, i, step) })
	}
	if i := v.deadEnd(p.Ended); i >= 0 {
		return v.outcome(i, stuck)
	}
	return Outcome{States: len(v.states)}
}

func (v *visited[S]) add(s S, from int, step string) {
	n, known := v.numbers[s]
	if !known {
		n = int32(len(v.states)) //nolint:gosec // a few millions
		v.numbers[s] = n
		v.states, v.from, v.by = append(v.states, s), append(v.from, int32(from)), append(v.by, step) //nolint:gosec // likewise
	}
	if from >= 0 {
		v.before = append(v.before, edge{int32(from), n}) //nolint:gosec // likewise
	}
}

func (v *visited[S]) outcome(i int, rule string) Outcome {
	var steps []string
	for at := int32(i); v.from[at] >= 0; at = v.from[at] { //nolint:gosec // a few millions
		steps = append(steps, v.by[at])
	}
	slices.Reverse(steps)
	return Outcome{States: len(v.states), Broken: rule, Steps: steps}
}

// byEnd gives the states before each state, from first[state] on.
func (v *visited[S]) byEnd() (first, before []int32) {
	first = make([]int32, len(v.states)+2)
	for _, e := range v.before {
		first[e.to+2]++
	}
	for i := range v.states {
		first[i+2] += first[i+1]
	}
	before = make([]int32, len(v.before))
	for _, e := range v.before {
		before[first[e.to+1]] = e.from
		first[e.to+1]++
	}
	return first, before
}

// deadEnd is the first state from which no way leads to an end, or -1.
func (v *visited[S]) deadEnd(ended func(S) bool) int {
	first, before := v.byEnd()
	ends := make([]bool, len(v.states))
	var todo []int32
	for i, s := range v.states {
		if ends[i] = ended(s); ends[i] {
			todo = append(todo, int32(i)) //nolint:gosec // likewise
		}
	}
	for len(todo) > 0 {
		at := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for _, from := range before[first[at]:first[at+1]] {
			if !ends[from] {
				ends[from] = true
				todo = append(todo, from)
			}
		}
	}
	return slices.Index(ends, false)
}
