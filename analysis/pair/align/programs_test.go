package align_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/tensortap/tensortap/analysis/pair/align"
)

// checkRows reports faults of the rows: each op that is not absent stands in one, in an order that keeps the
// problem's.
func checkRows(t *testing.T, problem, bench []align.Op, rows []align.Row) {
	t.Helper()
	seenProblem, seenBench := make([]int, len(problem)), make([]int, len(bench))
	last := -1
	for _, r := range rows {
		switch {
		case r.Problem < 0 && r.Bench < 0:
			t.Fatalf("row %+v has no op", r)
		case (r.Problem < 0) != (r.Reason == align.OnlyBench), (r.Bench < 0) != (r.Reason == align.OnlyProblem):
			t.Fatalf("row %+v has the wrong reason", r)
		}
		if r.Problem >= 0 {
			if r.Problem <= last {
				t.Fatalf("problem's op %d stands behind op %d", r.Problem, last)
			}
			last = r.Problem
			seenProblem[r.Problem]++
		}
		if r.Bench >= 0 {
			seenBench[r.Bench]++
		}
		if r.Problem >= 0 && r.Bench >= 0 && problem[r.Problem].Phase != bench[r.Bench].Phase {
			t.Fatalf("row %+v pairs phase %q with %q", r, problem[r.Problem].Phase, bench[r.Bench].Phase)
		}
	}
	checkSeen(t, "problem", problem, seenProblem)
	checkSeen(t, "bench", bench, seenBench)
}

func checkSeen(t *testing.T, side string, ops []align.Op, seen []int) {
	t.Helper()
	for i, n := range seen {
		want := 1
		if ops[i].Absent {
			want = 0
		}
		if n != want {
			t.Fatalf("op %d of the %s stands in %d rows, want %d", i, side, n, want)
		}
	}
}

func TestProgramsPairsEveryUntouchedOpWithItsTruePartner(t *testing.T) {
	t.Parallel()
	for seed := range uint64(400) {
		f := &forest{random: rand.New(rand.NewPCG(seed, 1))}
		calls, phases := 1, []string{"forward"}
		bench := f.module("model", 3)
		problem := bench.clone()
		for range 1 + f.random.IntN(4) {
			f.damage(problem)
		}
		if seed%5 == 0 {
			calls = 3
		}
		if seed%3 == 0 {
			phases = append(phases, "recompute")
		}
		p, pTruths := record(problem, calls, phases...)
		b, bTruths := record(bench, calls, phases...)
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			checkTruth(t, p, b, pTruths, bTruths)
		})
		t.Run(fmt.Sprint(seed, " the other way"), func(t *testing.T) {
			t.Parallel()
			checkTruth(t, b, p, bTruths, pTruths)
		})
	}
}

// checkTruth reports ops of both programs that do not stand beside each other. An op of only one
// program may have a partner: a call may have moved into a module.
func checkTruth(t *testing.T, problem, bench []align.Op, problemTruths, benchTruths []string) {
	t.Helper()
	rows := align.Programs(problem, bench)
	checkRows(t, problem, bench, rows)
	partner := map[string]string{}
	for _, r := range rows {
		if r.Problem >= 0 && r.Bench >= 0 {
			partner[problemTruths[r.Problem]] = benchTruths[r.Bench]
		}
	}
	for _, truth := range benchTruths {
		if slices.Contains(problemTruths, truth) && partner[truth] != truth {
			t.Errorf("%s is paired with %q", truth, partner[truth])
		}
	}
}

func TestProgramsOfTheSameProgramPairsByID(t *testing.T) {
	t.Parallel()
	f := &forest{random: rand.New(rand.NewPCG(1, 1))}
	ops, _ := record(f.module("model", 3), 3, "forward", "recompute")
	for i, r := range align.Programs(ops, ops) {
		if r != (align.Row{Problem: i, Bench: i, Reason: align.SameID}) {
			t.Fatalf("row %d is %+v, want op %d beside itself", i, r, i)
		}
	}
}

func TestProgramsOfNothing(t *testing.T) {
	t.Parallel()
	ops := []align.Op{{ID: 1, Level: "api", ClassOrAPI: "add", Phase: "forward"}, {ID: 2, Level: "api", ClassOrAPI: "mul", Phase: "forward"}}
	if rows := align.Programs(nil, nil); len(rows) != 0 {
		t.Errorf("two empty programs give %+v", rows)
	}
	want := []align.Row{{Problem: 0, Bench: -1, Reason: align.OnlyProblem}, {Problem: 1, Bench: -1, Reason: align.OnlyProblem}}
	if rows := align.Programs(ops, nil); !slices.Equal(rows, want) {
		t.Errorf("beside nothing: %+v, want %+v", rows, want)
	}
	want = []align.Row{{Problem: -1, Bench: 0, Reason: align.OnlyBench}, {Problem: -1, Bench: 1, Reason: align.OnlyBench}}
	if rows := align.Programs(nil, ops); !slices.Equal(rows, want) {
		t.Errorf("nothing beside: %+v, want %+v", rows, want)
	}
}

// listing writes a program as text, one op a line: name, then parent. Names are prefix:path:class:index:phase.
func listing(text string) []align.Op {
	var ops []align.Op
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		op := named(words[0])
		if len(words) > 1 {
			op.ParentID = named(words[1]).ID
		}
		ops = append(ops, op)
	}
	return ops
}

func named(text string) align.Op {
	var op align.Op
	text, op.Absent = strings.CutPrefix(text, "!")
	parts := strings.Split(text, ":")
	op.Prefix, op.ModulePath, op.ClassOrAPI, op.Phase = parts[0], parts[1], parts[2], parts[4]
	_, _ = fmt.Sscan(parts[3], &op.CallIndex)
	op.Level = "api"
	if op.Prefix == "Module" {
		op.Level = "module"
	}
	op.ID = id(op)
	return op
}

// shown writes the rows as text: both positions and the reason.
func shown(rows []align.Row) string {
	var lines []string
	for _, r := range rows {
		lines = append(lines, fmt.Sprintf("%d %d %s", r.Problem, r.Bench, r.Reason))
	}
	return strings.Join(lines, "\n")
}

func TestProgramsByRule(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, problem, bench, want string }{
		{
			"a fused op in place of three leaves its neighbours paired",
			"T::a:0:forward\nF::fused:0:forward\nT::b:0:forward",
			"T::a:0:forward\nT::x:0:forward\nT::y:0:forward\nT::z:0:forward\nT::b:0:forward",
			"0 0 id\n1 -1 only_problem\n-1 1 only_bench\n-1 2 only_bench\n-1 3 only_bench\n2 4 id",
		},
		{
			"another class under the same path is renamed, and another activation in it is not paired",
			"F::gelu:0:forward Module:m.act:GELU:0:forward\nModule:m.act:GELU:0:forward",
			"F::silu:3:forward Module:m.act:SiLU:0:forward\nModule:m.act:SiLU:0:forward",
			"0 -1 only_problem\n-1 0 only_bench\n1 1 renamed",
		},
		{
			"an equal id in another module is no reason to pair",
			"T::mul:0:forward Module:a:A:0:forward\nModule:a:A:0:forward\nT::mul:1:forward Module:b:B:0:forward\nModule:b:B:0:forward",
			"Module:a:A:0:forward\nT::mul:0:forward Module:b:B:0:forward\nModule:b:B:0:forward",
			"0 -1 only_problem\n1 0 id\n2 1 sequence\n3 2 id",
		},
		{
			"a module that wraps others leaves them paired",
			"T::add:0:forward Module:m.inner:Linear:0:forward\nModule:m.inner:Linear:0:forward Module:w:Wrap:0:forward\nT::mul:0:forward Module:w:Wrap:0:forward\nModule:w:Wrap:0:forward Module:m:M:0:forward\nModule:m:M:0:forward",
			"T::add:0:forward Module:m.inner:Linear:0:forward\nModule:m.inner:Linear:0:forward Module:m:M:0:forward\nT::mul:0:forward Module:m:M:0:forward\nModule:m:M:0:forward",
			"0 0 id\n1 1 module\n2 2 sequence\n3 -1 only_problem\n4 3 id",
		},
		{
			"a prefix to every path pairs modules by order",
			"T::add:0:forward Module:module.m.a:A:0:forward\nModule:module.m.a:A:0:forward Module:module.m:M:0:forward\nModule:module.m:M:0:forward",
			"T::add:0:forward Module:m.a:A:0:forward\nModule:m.a:A:0:forward Module:m:M:0:forward\nModule:m:M:0:forward",
			"0 0 id\n1 1 sequence\n2 2 sequence",
		},
		{
			"one call of a module less",
			"Module:m:M:0:forward\nModule:m:M:1:forward",
			"Module:m:M:0:forward\nModule:m:M:1:forward\nModule:m:M:2:forward",
			"0 0 id\n1 1 id\n-1 2 only_bench",
		},
		{
			"a shared module is paired under its own parent",
			"T::a:0:forward Module:act:Act:0:forward\nModule:act:Act:0:forward Module:l.1:L:0:forward\nModule:l.1:L:0:forward",
			"T::a:0:forward Module:act:Act:0:forward\nModule:act:Act:0:forward Module:l.0:L:0:forward\nModule:l.0:L:0:forward\nT::a:1:forward Module:act:Act:1:forward\nModule:act:Act:1:forward Module:l.1:L:0:forward\nModule:l.1:L:0:forward",
			"-1 0 only_bench\n-1 1 only_bench\n-1 2 only_bench\n0 3 sequence\n1 4 module\n2 5 id",
		},
		{
			"a backward op goes where its forward op goes",
			"T::mul:0:forward Module:n:N:0:forward\nModule:n:N:0:forward\nT::mul:1:forward\nT::mul:1:backward\nT::mul:0:backward",
			"T::mul:0:forward\nT::mul:0:backward",
			"0 -1 only_problem\n1 -1 only_problem\n2 0 sequence\n3 1 sequence\n4 -1 only_problem",
		},
		{
			"what a parent without a row holds together is paired, even if only one side has the row",
			"T::add:0:forward opt::step:-1:none\n!opt::step:-1:none\nT::add:1:forward Module:m:M:0:forward\nModule:m:M:0:forward",
			"T::add:0:forward opt::step:-1:none\nT::add:1:forward Module:m:M:0:forward\n!opt::step:-1:none\n!Module:m:M:0:forward",
			"0 0 id\n2 1 id\n3 -1 only_problem",
		},
		{
			"ops that nothing is known of are paired by id",
			"?::x:0:none\n?::y:0:none", "?::y:0:none", "0 -1 only_problem\n1 0 id",
		},
		{
			"modules that changed places are paired, calls that did are not",
			"Module:a:A:0:forward\nT::x:0:forward\nModule:b:B:0:forward",
			"Module:b:B:0:forward\nT::x:0:forward\nModule:a:A:0:forward",
			"0 2 id\n1 -1 only_problem\n2 0 id\n-1 1 only_bench",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			problem, bench := listing(c.problem), listing(c.bench)
			rows := align.Programs(problem, bench)
			checkRows(t, problem, bench, rows)
			if got := shown(rows); got != c.want {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
		})
	}
}

func TestProgramsSurvivesCirclesAndDoubles(t *testing.T) {
	t.Parallel()
	op := func(id, parent uint64, level string) align.Op {
		return align.Op{ID: id, ParentID: parent, Level: level, Prefix: "M", ClassOrAPI: "c", Phase: "forward", ModulePath: "m"}
	}
	circle := []align.Op{op(1, 2, "module"), op(2, 3, "api"), op(3, 1, "module"), op(4, 4, "api"), op(5, 4, "api"), op(5, 4, "api")}
	others := []align.Op{op(1, 3, "api"), op(3, 1, "module"), op(9, 77, "module"), op(5, 5, "api")}
	for _, pair := range [][2][]align.Op{{circle, others}, {others, circle}, {circle, circle}} {
		checkRows(t, pair[0], pair[1], align.Programs(pair[0], pair[1]))
	}
}

func TestProgramsOfOneOpRepeated(t *testing.T) {
	t.Parallel()
	repeat := func(n int) []align.Op {
		ops := make([]align.Op, n)
		for i := range ops {
			ops[i] = align.Op{ID: uint64(i + 1), Level: "api", Prefix: "Tensor", ClassOrAPI: "add", CallIndex: int64(i), Phase: "forward"}
		}
		return ops
	}
	problem, bench := repeat(100_000), repeat(99_000)
	rows := align.Programs(problem, bench)
	checkRows(t, problem, bench, rows)
	for _, r := range rows {
		if r.Problem < 99_000 && r.Reason != align.SameID {
			t.Fatalf("row %+v, want each beside its own id", r)
		}
	}
}

func FuzzPrograms(f *testing.F) {
	f.Add([]byte("abcdefgh"), []byte("abxdefgh"))
	f.Add([]byte{0, 0, 0, 255, 255, 7}, []byte{})
	f.Fuzz(func(t *testing.T, left, right []byte) {
		problem, bench := wild(left), wild(right)
		checkRows(t, problem, bench, align.Programs(problem, bench))
	})
}

// wild makes ops of bytes, with few ids, parents, names and phases, so that all that can clash does.
func wild(text []byte) []align.Op {
	levels, phases := []string{"module", "api", "", "other"}, []string{"forward", "backward", "recompute", "gradient"}
	ops := make([]align.Op, 0, len(text))
	for i, c := range text {
		n := int(c) + i
		ops = append(ops, align.Op{
			ID: uint64(c), ParentID: uint64(n % 11), Level: levels[n%4], Prefix: "P", ModulePath: strings.Repeat("m.", n%3),
			ClassOrAPI: fmt.Sprint(n % 5), CallIndex: int64(n%4) - 1, Phase: phases[c%4], Absent: c%16 == 5, Signature: uint64(c % 3),
		})
	}
	return ops
}
