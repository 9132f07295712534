package sglangdumper

import (
	"slices"
	"strconv"

	"github.com/tensortap/tensortap/schemas"
)

// call is one call of a module, or one saving of a value.
type call struct {
	op     schemas.OpRow
	parent uint64 // the call that was under way; 0 when none was
	name   string // of the op, without the number of the call
	known  map[string]bool
	ended  bool // an output was saved
}

// calls finds the calls of modules in the order of their saved arguments and results: a module runs from its
// inputs to its outputs, and values saved in between happened inside it.
type calls struct {
	count map[string]int // of each name
	open  []*call        // innermost last
	done  []*call        // in the order of completion: the program
}

func newCalls() *calls { return &calls{count: map[string]int{}} }

// next is the call that a value belongs to, and whether it is the first one of that call.
func (c *calls) next(p place) (of *call, fresh bool) {
	c.endOthers(p)
	if !p.hooked {
		of = c.begin(p)
		c.done = append(c.done, of)
		return of, true
	}
	i := c.find(p.op)
	if i >= 0 && c.open[i].takes(p) {
		of = c.open[i]
	} else {
		c.end(i)
		of, fresh = c.begin(p), true
		c.open = append(c.open, of)
		i = len(c.open) - 1
	}
	of.known[p.role+"."+p.path] = true
	if p.role == roleOutput {
		of.ended = true
		c.end(i + 1)
	}
	return of, fresh
}

// takes says whether the call can have that value, too.
func (c *call) takes(p place) bool {
	return !c.known[p.role+"."+p.path] && (p.role == roleOutput || !c.ended)
}

// endOthers completes a call whose outputs are all saved: outputs of one call follow each other.
func (c *calls) endOthers(p place) {
	for len(c.open) > 0 {
		innermost := c.open[len(c.open)-1]
		if !innermost.ended || (p.hooked && innermost.name == p.op && innermost.takes(p)) {
			return
		}
		c.end(len(c.open) - 1)
	}
}

// find is the innermost call of that name under way; -1 when there is none.
func (c *calls) find(name string) int {
	for i, open := range slices.Backward(c.open) {
		if open.name == name {
			return i
		}
	}
	return -1
}

// end completes the calls from that one on, innermost first; none for -1.
func (c *calls) end(from int) {
	for from >= 0 && len(c.open) > from {
		c.done = append(c.done, c.open[len(c.open)-1])
		c.open = c.open[:len(c.open)-1]
	}
}

func (c *calls) begin(p place) *call {
	name := p.op + "." + strconv.Itoa(c.count[p.op])
	c.count[p.op]++
	begun := &call{op: p.row(name), name: p.op, known: map[string]bool{}}
	if len(c.open) > 0 {
		begun.parent = c.open[len(c.open)-1].op.OpID
	}
	return begun
}

// row describes the op of that name.
func (p place) row(name string) schemas.OpRow {
	if !p.hooked {
		name += ".debug"
	}
	row := schemas.ParseOpName(name)
	if p.hooked {
		row.Phase = p.phase
	} else if p.layer >= 0 {
		row.LayerIndex = p.layer
	}
	return row
}
