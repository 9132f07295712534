package msprobe

import (
	"github.com/tensortap/tensortap/schemas"
)

// graph is the content of stack.json and construct.json, and the order of ops in dump.json. It holds ids only: some
// 50 bytes per op, whatever the size of the files.
type graph struct {
	nodes []node
	index map[uint64]int32 // by op id
	order []int32          // of the ops that ran, in execution order
}

type node struct {
	op, parent, stack uint64
	above             int32 // position of the parent's node; meaningless where there is no parent
	microStep         uint16
	seen              bool // ran, or is described by a row of op
}

func newGraph() *graph { return &graph{} }

// grow makes room for the ops of files of that size.
func (g *graph) grow(bytes int64) {
	const bytesPerOp = 1 << 10
	if ops := int(bytes / bytesPerOp); g.index == nil {
		g.index, g.nodes = make(map[uint64]int32, ops), make([]node, 0, ops)
	}
}

// clear forgets everything.
func (g *graph) clear() {
	clear(g.index)
	g.nodes, g.order = g.nodes[:0], g.order[:0]
}

// rewind forgets which ops ran.
func (g *graph) rewind() {
	for i := range g.nodes {
		g.nodes[i].seen = false
	}
	g.order = g.order[:0]
}

// at is the position of the op's node.
func (g *graph) at(op uint64) int32 {
	i, ok := g.index[op]
	if !ok {
		i = int32(len(g.nodes)) //nolint:gosec // two thousand million ops do not fit into memory
		g.index[op] = i
		g.nodes = append(g.nodes, node{op: op})
	}
	return i
}

// run notes that the op ran next, and says false if it had run before.
func (g *graph) run(op uint64) (node, bool) {
	i := g.at(op)
	n := &g.nodes[i]
	if n.seen {
		return *n, false
	}
	n.seen = true
	g.order = append(g.order, i)
	return *n, true
}

// link notes the parent of an op, 0 for none, and its micro step.
func (g *graph) link(op, parent uint64, microStep uint16) {
	above := int32(0)
	if parent != 0 {
		above = g.at(parent)
	}
	n := &g.nodes[g.at(op)]
	n.parent, n.above, n.microStep = parent, above, microStep
}

// strangers is the set of parents that did not run themselves, and so have no row of op yet.
func (g *graph) strangers() map[uint64]bool {
	var missing map[uint64]bool
	for _, i := range g.order {
		parent := g.nodes[i].parent
		if parent == 0 || g.nodes[g.nodes[i].above].seen {
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
