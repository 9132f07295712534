package align_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/tensortap/tensortap/analysis/pair/align"
)

// calls makes a program without modules, of calls of two APIs: a letter is the argument of a call, a capital letter
// belongs to the other API.
func calls(text string) []align.Op {
	var ops []align.Op
	counts := map[string]int64{}
	for _, c := range text {
		op := align.Op{Level: "api", Prefix: "Tensor", ClassOrAPI: "mul", Phase: "forward", Signature: uint64(c)}
		if strings.ToUpper(string(c)) == string(c) {
			op.ClassOrAPI = "add"
		}
		if c == '0' {
			op.ClassOrAPI, op.Signature = "mul", 0
		}
		op.CallIndex = counts[op.ClassOrAPI]
		counts[op.ClassOrAPI]++
		op.ID = id(op)
		ops = append(ops, op)
	}
	return ops
}

// partners writes the partner of each of the problem's ops as a digit, - for none.
func partners(rows []align.Row) string {
	var text strings.Builder
	for _, r := range rows {
		switch {
		case r.Problem < 0:
		case r.Bench < 0:
			text.WriteByte('-')
		default:
			fmt.Fprint(&text, r.Bench)
		}
	}
	return text.String()
}

func TestProgramsByWhatCallsAreGiven(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, problem, bench, want string }{
		{"one call more before its namesake", "xa", "a", "-0"},
		{"one call more behind its namesake", "ax", "a", "0-"},
		{"one call more between two", "axb", "ab", "0-1"},
		{"one call less of many", "abde", "abcde", "0134"},
		{"one less and one more elsewhere", "abx", "cab", "12-"},
		{"one less, one more elsewhere, and one between given something else", "abzex", "cabde", "1234-"},
		{"one less, one more elsewhere, and many between given something else", "abmnopqrstuyx", "cabdefghijkly", "123456789101112-"},
		{"two calls exchanged: one of them", "ba", "ab", "-0"},
		{"one call given something else", "abxd", "abcd", "0123"},
		{"one call given what the next is given", "abdde", "abcde", "01234"},
		{"one call given what the one before is given", "aacd", "abcd", "0123"},
		{"one call given something else, and one more of another API", "abXxde", "abcde", "01-234"},
		{"all calls given something else", "klmn", "abcd", "0123"},
		{"all but one given something else", "kamn", "bacd", "0123"},
		{"few that are given the same do not pull all others apart", "aklmnopqrs", "bcdefghija", "0123456789"},
		{"nothing is known of what one side is given", "000", "abc", "012"},
		{"nothing is known, and one less", "00", "abc", "01"},
		{"equal calls, of which one is more: by their ids", "aaa", "aa", "01-"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			problem, bench := calls(c.problem), calls(c.bench)
			rows := align.Programs(problem, bench)
			checkRows(t, problem, bench, rows)
			if got := partners(rows); got != c.want {
				t.Errorf("%s beside %s: partners %s, want %s", c.problem, c.bench, got, c.want)
			}
		})
	}
}

// eachTree makes trees and damaged copies.
func eachTree(t *testing.T, seeds uint64, damage func(f *forest, root *node) *node) {
	t.Helper()
	for seed := range seeds {
		f := &forest{random: rand.New(rand.NewPCG(seed, 2))}
		bench := f.module("model", 3)
		problem := damage(f, bench)
		p, pTruths := record(problem, 1, "forward")
		b, bTruths := record(bench, 1, "forward")
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			checkTruth(t, p, b, pTruths, bTruths)
			checkTruth(t, b, p, bTruths, pTruths)
		})
	}
}

// apiCalls are all calls of the tree that are no modules.
func (n *node) apiCalls() []*node {
	var all []*node
	for _, m := range n.modules() {
		for _, child := range m.children {
			if child.path == "" {
				all = append(all, child)
			}
		}
	}
	return all
}

func TestProgramsTellsCallsOfOneAPIApartByWhatTheyAreGiven(t *testing.T) {
	t.Parallel()
	eachTree(t, 200, func(f *forest, root *node) *node {
		for _, call := range root.apiCalls() {
			call.class, call.given = "mul", uint64(call.truth) //nolint:gosec // counted from 1
		}
		damaged := root.clone()
		for range 1 + f.random.IntN(3) {
			f.damageCall(damaged)
		}
		return damaged
	})
}

// damageCall removes one call of the one API, or adds one with another argument.
func (f *forest) damageCall(root *node) {
	all := root.modules()
	n := all[f.random.IntN(len(all))]
	at := f.random.IntN(len(n.children) + 1)
	if at < len(n.children) && n.children[at].path == "" && f.random.IntN(2) == 0 {
		n.children = slices.Delete(n.children, at, at+1)
		return
	}
	truth := f.truth()
	n.children = slices.Insert(n.children, at, &node{truth: truth, class: "mul", given: uint64(truth)}) //nolint:gosec // counted from 1
}

// A wrong literal or shape is the object of a comparison: the call has to stand beside its true partner all the
// same.
func TestProgramsKeepsACallThatIsGivenSomethingElse(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		wrong func(f *forest, calls []*node) uint64
	}{
		{"unheard of", func(*forest, []*node) uint64 { return 1 << 40 }},
		{"what another is given", func(f *forest, calls []*node) uint64 { return calls[f.random.IntN(len(calls))].given }},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			eachTree(t, 200, func(f *forest, root *node) *node {
				for _, call := range root.apiCalls() {
					call.class, call.given = "mul", uint64(1+f.random.IntN(3)) //nolint:gosec // small
				}
				return f.wrong(root, 1, c.wrong)
			})
		})
	}
}

// wrong gives some calls of a copy something else.
func (f *forest) wrong(root *node, times int, given func(*forest, []*node) uint64) *node {
	damaged := root.clone()
	calls := damaged.apiCalls()
	for range times {
		if len(calls) > 0 {
			calls[f.random.IntN(len(calls))].given = given(f, calls)
		}
	}
	return damaged
}

// The APIs of one module are all different here, so that arguments may not change the pairs.
func TestProgramsKeepsCallsThatAreGivenSomethingElseWhereProgramsDiffer(t *testing.T) {
	t.Parallel()
	eachTree(t, 300, func(f *forest, root *node) *node {
		some := func(f *forest, _ []*node) uint64 { return uint64(f.random.IntN(4)) } //nolint:gosec // small
		root = f.given(root)
		damaged := f.wrong(root, 5, some)
		for range 1 + f.random.IntN(4) {
			f.damage(damaged)
		}
		return damaged
	})
}

// given gives each call one of few signatures, or none.
func (f *forest) given(root *node) *node {
	for _, call := range root.apiCalls() {
		call.given = uint64(f.random.IntN(4)) //nolint:gosec // small
	}
	return root
}
