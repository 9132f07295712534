package msprobe

import (
	"github.com/tensortap/tensortap/schemas"
)

// graph is what stack.json and construct.json say of the ops, and the order in which dump.json names them. It holds
// ids only: some 50 bytes per op, whatever the size of the files.
type graph struct {
	nodes []node
	index map[uint64]int32 // by op id
	order []int32          // of the ops that ran, in execution order
}

type node struct {
	op, parent, stack uint64
	microStep         uint16
	seen              bool // ran, or is described by a row of op
}

// newGraph returns an empty graph with room for the ops of files of that size.
func newGraph(bytes int64) *graph {
	const bytesPerOp = 1 << 10
	ops := int(bytes / bytesPerOp)
	return &graph{index: make(map[uint64]int32, ops), nodes: make([]node, 0, ops)}
}

func (g *graph) at(op uint64) *node {
	i, ok := g.index[op]
	if !ok {
		i = int32(len(g.nodes)) //nolint:gosec // two thousand million ops do not fit into memory
		g.index[op] = i
		g.nodes = append(g.nodes, node{op: op})
	}
	return &g.nodes[i]
}

// run notes that the op ran next, and says false if it had run before.
func (g *graph) run(op uint64) (node, bool) {
	n := g.at(op)
	if n.seen {
		return *n, false
	}
	n.seen = true
	g.order = append(g.order, g.index[op])
	return *n, true
}

// strangers is the set of parents that did not run themselves, and so have no row of op yet.
func (g *graph) strangers() map[uint64]bool {
	var missing map[uint64]bool
	for _, i := range g.order {
		parent := g.nodes[i].parent
		if parent == 0 || g.nodes[g.index[parent]].seen {
			continue
		}
		if missing == nil {
			missing = make(map[uint64]bool)
		}
		missing[parent] = true
	}
	return missing
}

// program is the id of the ordered ops.
func (g *graph) program() uint64 {
	var hasher schemas.ProgramHasher
	for _, i := range g.order {
		hasher.Add(g.nodes[i].op, g.nodes[i].parent)
	}
	return hasher.ID()
}
