package corpus

import "fmt"

// Four ranks that compute, reduce, compute, reduce and compute, as in msProbe's own tests of where NaN and infinity began.
const (
	overflowRanks = 4
	product       = "Torch.matmul.0.forward"
	split         = "Torch.unbind.0.forward"
	reduceFirst   = "Distributed.all_reduce.0.forward"
	exponential   = "Torch.exp.0.forward"
	linear        = "Functional.linear.0.forward"
	reduceSecond  = "Distributed.all_reduce.1.forward"
	norm          = "Functional.layer_norm.0.forward"
)

// some is a tensor with numbers of its own.
func some(rank, number int) *Node {
	v := 1 + float64(32*rank+number)/256
	return row(v, -v/2, v/100, 8*v, "16", "16")
}

// overflowing is what one rank does. What collectives give is the same on all ranks.
func overflowing(rank int) *Part {
	const shared = overflowRanks // as if from a rank of its own
	in, weight, out := some(rank, 0), some(rank, 1), some(rank, 2)
	first, second := some(shared, 3), some(shared, 5)
	ops := []struct {
		name  string
		entry *Node
	}{
		{product, forward([]*Node{in, weight}, out)},
		{split, forward([]*Node{out}, list(some(rank, 6), some(rank, 7)))},
		{reduceFirst, forward([]*Node{some(rank, 6)}, first)},
		{exponential, forward([]*Node{first}, some(rank, 8))},
		{linear, forward([]*Node{some(rank, 8), some(rank, 4), Scalar("null")}, some(rank, 9))},
		{reduceSecond, forward([]*Node{some(rank, 9)}, second)},
		{norm, forward([]*Node{second}, some(rank, 10))},
	}
	data, construct := object(), object()
	for _, op := range ops {
		data.Set(op.name, op.entry.Clone())
		construct.Set(op.name, Scalar("null"))
	}
	return &Part{Folder: fmt.Sprintf("rank%d", rank), Dump: dump(data), Program: construct}
}

func overflowRun() *Run {
	run := &Run{}
	for rank := range overflowRanks {
		run.Parts = append(run.Parts, overflowing(rank))
	}
	return run
}

// Overflows are single runs of four ranks in which NaN or infinity begins
// somewhere, and one in which it does not; the bench of each is that one. The
// origin is the label; a clean run has none.
func Overflows() []Case {
	clean := Side{Name: "corpus overflow-clean", Run: overflowRun()}
	at := func(id, what string, rank int, op, place string, how func(*Node)) Case {
		m := making{spoil: nan}
		m.Case = Case{ID: id, What: what, Mode: "statistics", Bench: clean, Problem: Side{Name: "corpus " + id, Run: overflowRun()}}
		m.change(rank, op, how, place)
		return m.Case
	}
	return []Case{
		{ID: "overflow-clean", What: "nothing", Mode: "statistics", Harmless: true, Problem: clean, Bench: clean},
		at("overflow-before", "NaN before the first collective, on rank 1", 1, product, "output 0", nans),
		at("overflow-between", "NaN between the collectives, on rank 2", 2, exponential, "output 0", nans),
		at("overflow-infinity", "+Inf between the collectives, on rank 2", 2, exponential, "output 0", infinite(1)),
		at("overflow-after", "NaN behind the last collective, on rank 3", 3, norm, "output 0", nans),
		at("overflow-nested", "NaN in a tuple in the output of rank 1", 1, split, "output 0.0", nans),
		at("overflow-parameter", "NaN in the weight of rank 0", 0, linear, "input 1", nans),
	}
}
