package msprobedump

import (
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tensortap/tensortap/schemas"
)

// stacks writes stack.json, in which ops with the same stack stand together; it is nil where no stack is known.
func (d *Dump) stacks() func(*printer) {
	ops := map[uint64]*node{}
	var order []uint64
	for i := range d.Ops {
		id := d.Ops[i].Stack
		if len(d.Frames[id]) == 0 {
			continue
		}
		if ops[id] == nil {
			ops[id] = list()
			order = append(order, id)
		}
		ops[id].items = append(ops[id].items, text(d.Ops[i].Name))
	}
	if len(order) == 0 {
		return nil
	}
	return func(p *printer) {
		p.brackets('{', '}', len(order), 0, func(i int) {
			p.key(strconv.Itoa(i))
			p.print(list(ops[order[i]], texts(d.Frames[order[i]])), 1)
		})
	}
}

func texts(lines []string) *node {
	n := list()
	for _, line := range lines {
		n.items = append(n.items, text(line))
	}
	return n
}

// parents writes construct.json; it is nil where neither parents nor stacks are known, as msProbe leaves out both.
func (d *Dump) parents() func(*printer) {
	known, microSteps := false, uint16(0)
	for i := range d.Ops {
		known = known || d.Ops[i].Parent != ""
		microSteps = max(microSteps, d.Ops[i].MicroStep)
	}
	if !known && d.stacks() == nil {
		return nil
	}
	n := object()
	if known {
		d.construct(n, microSteps)
	}
	return func(p *printer) { p.print(n, 0) }
}

// construct adds each op with its parent, as msProbe does: the modules that it stands in and that are not there yet
// follow an API and go before a module, the outermost first. Its optimizer goes before what it calls.
func (d *Dump) construct(n *node, microSteps uint16) {
	c := constructing{into: n, ops: make(map[string]*Op, len(d.Ops)), written: make(map[string]bool, len(d.Ops)), microSteps: microSteps}
	for i := range d.Ops {
		c.ops[d.Ops[i].Name] = &d.Ops[i]
	}
	for i := range d.Ops {
		o := &d.Ops[i]
		switch {
		case d.Task == "structure":
			c.one(o.Name) // nothing but this file tells the order of the ops
		case o.Phase == schemas.PhaseGradient: // msProbe's graph finds their place by itself, and only then
		case isModule(o.Name) || o.Parent != "" && !isModule(o.Parent):
			c.from(o.Name)
		default:
			c.one(o.Name)
			c.from(o.Parent)
		}
	}
	if microSteps > 0 {
		n.add("megatron_micro_step_number", token(strconv.Itoa(int(microSteps))))
	}
}

func isModule(name string) bool { return schemas.ParseOpName(name).Level == schemas.LevelModule }

// constructing is construct.json under way.
type constructing struct {
	into       *node
	ops        map[string]*Op
	written    map[string]bool
	microSteps uint16
}

// from adds an op, and before it those that it stands in.
func (c *constructing) from(name string) {
	var missing []string
	met := map[string]bool{} // parents that go in a circle, which nothing forbids in a file, end
	for name != "" && !c.written[name] && !met[name] {
		missing, met[name] = append(missing, name), true
		name, _ = c.parent(name)
	}
	for _, name := range slices.Backward(missing) {
		c.one(name)
	}
}

func (c *constructing) one(name string) {
	if c.written[name] {
		return
	}
	c.written[name] = true
	parent, microStep := c.parent(name)
	c.into.add(name, parentNode(parent, microStep, c.microSteps))
}

// parent is that of an op, none of one that did not run itself.
func (c *constructing) parent(name string) (string, uint16) {
	if o := c.ops[name]; o != nil {
		return o.Parent, o.MicroStep
	}
	return "", 0
}

// parentNode is a parent, with the micro step of the op where the step has several.
func parentNode(parent string, microStep, microSteps uint16) *node {
	name := token("null")
	if parent != "" {
		name = text(parent)
	}
	if microSteps == 0 {
		return name
	}
	return list(name, token(strconv.Itoa(int(microStep))))
}

// writeErrorLog says in msProbe's own way that something is missing.
func (d *Dump) writeErrorLog(path string) error {
	if d.Lost == 0 {
		return nil
	}
	at := time.Unix(0, d.LostTimeNs).UTC().Format(time.DateTime)
	line := "[" + at + " +0000] " + strconv.FormatUint(d.Lost, 10) + " ops or rows are missing: " + strings.ReplaceAll(d.LostReason, "\n", " ") + "\n"
	return os.WriteFile(path, []byte(line), 0o666) //nolint:gosec // the user's umask decides
}
