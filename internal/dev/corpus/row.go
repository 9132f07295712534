package corpus

import (
	"math"
	"strconv"
	"strings"
)

// Leaf is one row of an op: a tensor or another argument, and where it stands.
type Leaf struct {
	Role, Path string
	Node       *Node
}

// sections are the parts of an op's entry in the order of their rows.
func sections() [][2]string {
	return [][2]string{
		{"input_args", "input"}, {"input", "input"}, {"input_kwargs", "kwarg"}, {"parameters", "parameter"}, {"output", "output"},
	}
}

// Ops are the entries of a dump, in execution order.
func (p *Part) Ops() *Node { return p.Dump.Get("data") }

// Leaves lists the rows of an op: inputs, parameters, outputs.
func Leaves(op string, entry *Node) []Leaf {
	var out []Leaf
	if strings.Contains(op, ".parameters_grad.") {
		for i, key := range entry.Keys {
			list := entry.Items[i]
			out = append(out, Leaf{"parameter_gradient", key, list.Items[0]})
		}
		return out
	}
	for _, s := range sections() {
		if part := entry.Get(s[0]); part != nil {
			out = append(out, leavesBelow(s[1], "", part)...)
		}
	}
	return out
}

func leavesBelow(role, path string, n *Node) []Leaf {
	if n.Open == 0 || (n.Open == '{' && (n.Get("type") != nil && n.Get("type").Open == 0 || n.Get("class_type") != nil)) {
		return []Leaf{{role, path, n}}
	}
	var out []Leaf
	for i, item := range n.Items {
		key := strconv.Itoa(i)
		if n.Open == '{' {
			key = n.Keys[i]
		}
		if path != "" {
			key = path + "." + key
		}
		out = append(out, leavesBelow(role, key, item)...)
	}
	return out
}

// At finds one row of a part.
func (p *Part) At(op, role, path string) Leaf {
	entry := p.Ops().Get(op)
	if entry == nil {
		panic("corpus: no op " + op) //nolint:forbidigo // a label that is wrong, before any test runs
	}
	for _, l := range Leaves(op, entry) {
		if l.Role == role && l.Path == path {
			return l
		}
	}
	panic("corpus: no " + role + " " + path + " of " + op) //nolint:forbidigo // a label that is wrong, before any test runs
}

// tensor says whether a row is a tensor of floating-point numbers that were measured.
func tensor(n *Node) bool {
	dtype := n.Get("dtype")
	return dtype != nil && strings.Contains(dtype.Text, "float") && (number(n.Get("Max")) || n.Get("md5") != nil)
}

func number(n *Node) bool {
	if n == nil {
		return false
	}
	_, err := strconv.ParseFloat(n.Text, 64)
	return err == nil
}

// value is a number of a row, 0 for one that is none.
func value(n *Node, key string) float64 {
	if n.Get(key) == nil {
		return 0
	}
	v, _ := strconv.ParseFloat(n.Get(key).Text, 64) // 0 for null
	return v
}

// elements is how many numbers a tensor has.
func elements(n *Node) float64 {
	count := 1.0
	if shape := n.Get("shape"); shape != nil {
		for _, size := range shape.Items {
			v, _ := strconv.ParseFloat(size.Text, 64)
			count *= v
		}
	}
	return count
}

// decimal writes a number as msProbe does: a float32, widened.
func decimal(v float64) *Node {
	switch {
	case math.IsNaN(v):
		return Scalar("NaN")
	case v > 3.5e38:
		return Scalar("Infinity")
	case v < -3.5e38:
		return Scalar("-Infinity")
	}
	return Scalar(strconv.FormatFloat(float64(float32(v)), 'g', -1, 64))
}
