package align_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/tensortap/tensortap/analysis/pair/align"
	"github.com/tensortap/tensortap/schemas"
)

// node is one call in a tree of modules, which tests grow and damage.
type node struct {
	truth    int    // names the call, whatever its index is later
	path     string // of a module; empty for an API
	class    string // of the module, or the API
	given    uint64 // its signature
	children []*node
}

// apis are few, so that their call indices shift everywhere.
func apis() []string {
	return []string{"add", "mul", "linear", "to", "transpose", "cat", "silu", "reshape", "mean", "rsqrt"}
}

// forest grows trees.
type forest struct {
	random *rand.Rand
	truths int
}

func (f *forest) truth() int { f.truths++; return f.truths }

// module grows a module. The APIs that it calls itself are all different, so that
// only one pairing is right however a tree is damaged.
func (f *forest) module(path string, depth int) *node {
	n := &node{truth: f.truth(), path: path, class: fmt.Sprintf("Class%d", f.random.IntN(3))}
	names := apis()
	f.random.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	for i := range 1 + f.random.IntN(7) {
		if depth > 0 && f.random.IntN(2) == 0 {
			n.children = append(n.children, f.module(fmt.Sprintf("%s.part%d", path, i), depth-1))
			continue
		}
		n.children = append(n.children, &node{truth: f.truth(), class: names[i]})
	}
	return n
}

func (n *node) clone() *node {
	c := *n
	c.children = nil
	for _, child := range n.children {
		c.children = append(c.children, child.clone())
	}
	return &c
}

// modules are all modules of the tree.
func (n *node) modules() []*node {
	all := []*node{n}
	for _, child := range n.children {
		if child.path != "" {
			all = append(all, child.modules()...)
		}
	}
	return all
}

// damage changes one thing.
func (f *forest) damage(root *node) {
	all := root.modules()
	n := all[f.random.IntN(len(all))]
	at := f.random.IntN(len(n.children) + 1)
	switch f.random.IntN(5) {
	case 0: // one call more
		n.children = slices.Insert(n.children, at, &node{truth: f.truth(), class: unused(n)})
	case 1: // a module more
		n.children = slices.Insert(n.children, at, f.module(n.path+".extra"+fmt.Sprint(f.truth()), 1))
	case 2: // another class
		n.class += "Other"
	case 3: // a call, or a module with all in it, less
		if at < len(n.children) {
			n.children = slices.Delete(n.children, at, at+1)
		}
	case 4: // another call in the place of one
		if at < len(n.children) && n.children[at].path == "" {
			n.children[at] = &node{truth: f.truth(), class: unused(n)}
		}
	}
}

// unused is an API that the module does not call, nor called before a call was removed.
func unused(n *node) string { return fmt.Sprintf("new%d", len(n.children)) + n.path }

// recording writes a tree down as a step of training: forward calls, then backward ones from the last to the first.
type recording struct {
	ops     []align.Op
	truths  []string
	counts  map[string]int64
	forward []traced
}

type traced struct {
	node, parent *node
	op           align.Op
}

// record makes a program of calls of the tree in those phases, with gradients behind it, and the truth of each op.
func record(root *node, calls int, phases ...string) ([]align.Op, []string) {
	r := recording{counts: map[string]int64{}}
	for k := range calls {
		for _, phase := range phases {
			r.forward = nil
			r.call(root, nil, phase, fmt.Sprintf("%s%d/", phase, k))
		}
		r.backward(fmt.Sprintf("backward%d/", k))
	}
	for _, n := range root.modules() {
		op := align.Op{Level: "module", Prefix: "Module", ModulePath: n.path, ClassOrAPI: n.class, Phase: "gradient"}
		r.add(op, 0, fmt.Sprint("g/", n.truth))
	}
	return r.ops, r.truths
}

// call records the calls of n and then n, as hooks do.
func (r *recording) call(n, parent *node, phase, prefix string) uint64 {
	op := align.Op{Level: "api", Prefix: "Tensor", ClassOrAPI: n.class, Phase: phase, Signature: n.given}
	if n.path != "" {
		op.Level, op.Prefix, op.ModulePath = "module", "Module", n.path
	}
	counter := op.Prefix + n.path + n.class
	op.CallIndex = r.counts[counter]
	r.counts[counter]++
	op.ID = id(op)
	for _, child := range n.children {
		at := r.call(child, n, phase, prefix)
		for i := len(r.ops) - 1; i >= 0; i-- {
			if r.ops[i].ID == at {
				r.ops[i].ParentID = op.ID
				break
			}
		}
	}
	r.add(op, 0, prefix+fmt.Sprint(n.truth))
	r.forward = append(r.forward, traced{n, parent, op})
	return op.ID
}

// backward records the same calls from the last to the first. Calls of a module come before the module.
func (r *recording) backward(prefix string) {
	ops := map[*node]align.Op{}
	for _, t := range r.forward {
		ops[t.node] = t.op
	}
	for _, t := range slices.Backward(r.forward) {
		op := t.op
		op.Phase = "backward"
		above := uint64(0)
		if t.parent != nil {
			parent := ops[t.parent]
			parent.Phase = "backward"
			above = id(parent)
		}
		r.add(op, above, prefix+fmt.Sprint(t.node.truth))
	}
}

func (r *recording) add(op align.Op, parent uint64, truth string) {
	op.ID, op.ParentID = id(op), parent
	r.ops, r.truths = append(r.ops, op), append(r.truths, truth)
}

func id(op align.Op) uint64 {
	return schemas.OpID(strings.Join([]string{op.Prefix, op.ModulePath, op.ClassOrAPI, fmt.Sprint(op.CallIndex), op.Phase}, "."))
}
