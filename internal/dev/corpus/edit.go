package corpus

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// rename gives ops other names in all three files.
func (p *Part) rename(to func(string) string) {
	for i, op := range p.Ops().Keys {
		p.Ops().Keys[i] = to(op)
	}
	if p.Program != nil {
		for i, op := range p.Program.Keys {
			p.Program.Keys[i] = to(op)
			renameText(p.Program.Items[i], to)
		}
	}
	if p.Stacks != nil {
		for _, group := range p.Stacks.Items {
			for _, op := range group.Items[0].Items {
				renameText(op, to)
			}
		}
	}
}

func renameText(n *Node, to func(string) string) {
	if text, err := strconv.Unquote(n.Text); err == nil {
		*n = *Quoted(to(text))
	}
}

// call splits the name of an API's call.
func call(op string) (api string, index int, phase string, ok bool) {
	rest, forward := strings.CutSuffix(op, ".forward")
	phase = "forward"
	if !forward {
		rest, ok = strings.CutSuffix(op, ".backward")
		phase = "backward"
	}
	dot := strings.LastIndexByte(rest, '.')
	if !forward && !ok || dot < 0 || strings.HasPrefix(op, "Module.") {
		return "", 0, "", false
	}
	index, err := strconv.Atoi(rest[dot+1:])
	return rest[:dot], index, phase, err == nil
}

// shift renumbers the calls of an API from an index on, as one call more or less does.
func (p *Part) shift(api string, from, by int) {
	p.rename(func(op string) string {
		name, index, phase, ok := call(op)
		if !ok || name != api || index < from {
			return op
		}
		return fmt.Sprintf("%s.%d.%s", api, index+by, phase)
	})
}

// remove takes ops out of all three files. What was inside them moves up.
func (p *Part) remove(ops ...string) {
	for _, op := range ops {
		p.drop(p.Ops(), op)
		if p.Program != nil {
			parent := p.Program.Get(op)
			p.drop(p.Program, op)
			for i, item := range p.Program.Items {
				if item.Text == Quoted(op).Text {
					p.Program.Items[i] = parent.Clone()
				}
			}
		}
		if p.Stacks != nil {
			for _, group := range p.Stacks.Items {
				group.Items[0].Items = slices.DeleteFunc(group.Items[0].Items, func(n *Node) bool { return n.Text == Quoted(op).Text })
			}
		}
	}
}

func (p *Part) drop(from *Node, key string) {
	if i := slices.Index(from.Keys, key); i >= 0 {
		from.Keys = slices.Delete(from.Keys, i, i+1)
		from.Items = slices.Delete(from.Items, i, i+1)
	}
}

// removeCall takes a call out, forward and backward, and renumbers those after it.
func (p *Part) removeCall(api string, index int) {
	p.remove(fmt.Sprintf("%s.%d.forward", api, index), fmt.Sprintf("%s.%d.backward", api, index))
	p.shift(api, index+1, -1)
}

// insert puts an op behind another, inside the same module.
func (p *Part) insert(op string, entry *Node, after string) {
	p.Ops().insert(op, entry, p.Ops().position(after)+1)
	if p.Program != nil && p.Program.Get(after) != nil {
		p.Program.insert(op, p.Program.Get(after).Clone(), p.Program.position(after)+1)
	}
}

// position is the index of a member of an object.
func (n *Node) position(key string) int {
	i := slices.Index(n.Keys, key)
	if i < 0 {
		panic("corpus: no op " + key) //nolint:forbidigo // a label that is wrong, before any test runs
	}
	return i
}

// insert gives an object a member at a position.
func (n *Node) insert(key string, item *Node, at int) {
	n.Keys, n.Items = slices.Insert(n.Keys, at, key), slices.Insert(n.Items, at, item)
}

// insertCall puts one more call of an API after an op, of that index, and renumbers those that follow.
func (p *Part) insertCall(api string, index int, entry *Node, after string) string {
	p.shift(api, index, 1)
	op := fmt.Sprintf("%s.%d.forward", api, index)
	p.insert(op, entry, after)
	return op
}

// object is an object of these members, a key before each.
func object(pairs ...any) *Node {
	n := &Node{Open: '{'}
	for i := 0; i < len(pairs); i += 2 {
		n.Set(pairs[i].(string), pairs[i+1].(*Node)) //nolint:errcheck // keys and values take turns
	}
	return n
}

// list is an array.
func list(items ...*Node) *Node { return &Node{Open: '[', Items: items} }

// literal is an argument that is no tensor.
func literal(kind, text string) *Node {
	return object("type", Quoted(kind), "value", Scalar(text))
}

// forward is the entry of a forward call.
func forward(inputs []*Node, outputs ...*Node) *Node {
	return object("input_args", list(inputs...), "input_kwargs", object(), "output", list(outputs...))
}
