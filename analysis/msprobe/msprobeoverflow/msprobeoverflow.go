// Package msprobeoverflow answers where NaN or infinity began in the way of
// msProbe's overflow_check: by its rules, and as the JSON that it writes.
//
// Its rules look at the first level of an op's inputs and outputs only: at
// Max and Min, not at Mean, Norm, parameters or what is nested. What they miss,
// our own report finds.
package msprobeoverflow

import (
	"slices"
	"strings"
)

// Op is what the rules know of one op of a rank, in the order in which it ran.
type Op struct {
	Rank      uint32
	Name      string
	InputBad  bool // a tensor among the inputs or keyword arguments has NaN or infinity as Max or Min
	OutputBad bool // one among the outputs
	// Of a collective or point-to-point call: the ranks that its arguments name.
	Source, Destination *int64  // keyword arguments src and dst, or src_group and dst_group
	Numbers             []int64 // whole numbers among the positional arguments
	Group               []int64 // ranks of the keyword argument group
}

// Origin is an op that the rules name.
type Origin struct {
	Rank uint32
	Op   string
}

// isIgnored names ops whose outputs are not what they computed.
func isIgnored(name string) bool {
	return strings.Contains(name, "Torch.empty") || strings.Contains(name, "Torch.fill")
}

// begins says whether what is not finite began in this op.
func (o *Op) begins() bool { return !isIgnored(o.Name) && !o.InputBad && o.OutputBad }

// isCollective tells calls between ranks by their names, as msProbe does: every
// name with such a word in it is one.
func isCollective(name string) bool {
	words := []string{"send", "recv", "broadcast", "reduce", "gather", "scatter", "all_to_all"}
	return strings.HasPrefix(name, "Distributed.") && slices.ContainsFunc(words, func(word string) bool { return strings.Contains(name, word) })
}

// Find names the origins: those before the first call between ranks, of each
// rank its first; else one that the calls between ranks lead back to; else
// those after the last. Ops are ordered by rank and by when they ran.
func Find(ops []Op) []Origin {
	ranks := byRank(ops)
	var found []Origin
	for _, r := range ranks {
		if o := r.beforeCalls(); o != nil {
			found = append(found, Origin{o.Rank, o.Name})
		}
	}
	if len(found) > 0 {
		return found
	}
	g := newGraph(ranks)
	if origin, ok := g.first(); ok {
		return []Origin{origin}
	}
	for _, r := range ranks {
		if len(r.after) > 0 {
			found = append(found, Origin{r.rank, r.after[0].Name})
		}
	}
	return found
}

// rankOps are those of one rank.
type rankOps struct {
	rank  uint32
	ops   []Op
	calls []*call
	after []*Op // that begin something after the last call
}

func byRank(ops []Op) []*rankOps {
	var ranks []*rankOps
	for _, o := range ops {
		if len(ranks) == 0 || ranks[len(ranks)-1].rank != o.Rank {
			ranks = append(ranks, &rankOps{rank: o.Rank})
		}
		last := ranks[len(ranks)-1]
		last.ops = append(last.ops, o)
	}
	return ranks
}

// beforeCalls is the first op that begins something, if no call between ranks precedes it.
func (r *rankOps) beforeCalls() *Op {
	for i := range r.ops {
		switch o := &r.ops[i]; {
		case isCollective(o.Name):
			return nil
		case o.begins():
			return o
		}
	}
	return nil
}
