package msprobeoverflow

import (
	"bufio"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/tensortap/tensortap/analysis/msprobe/internal/pyrepr"
)

// Node is a JSON value whose members keep their order: an object if it IsMap, a list if it IsList, else its Text.
type Node struct {
	Keys   []string // of an object
	Items  []*Node  // of an object or a list
	IsList bool
	IsMap  bool
	Text   string // a scalar, as JSON
}

// Text is a node of a string.
func Text(s string) *Node { return &Node{Text: pyrepr.JSON(s)} }

// Texts is a node of a list of strings.
func Texts(list []string) *Node {
	n := &Node{IsList: true}
	for _, s := range list {
		n.Items = append(n.Items, Text(s))
	}
	return n
}

// Object is an empty object, to be filled with Set.
func Object() *Node { return &Node{IsMap: true} }

// List is an empty list.
func List() *Node { return &Node{IsList: true} }

// Set appends a member.
func (n *Node) Set(key string, value *Node) {
	n.Keys, n.Items = append(n.Keys, key), append(n.Items, value)
}

// get is the member of that key; nil when there is none.
func (n *Node) get(key string) *Node {
	for i, k := range n.Keys {
		if k == key {
			return n.Items[i]
		}
	}
	return nil
}

// Put places a value below the node under a path of keys joined by dots. A part that is a number is a place in a list.
func (n *Node) Put(path string, value *Node) {
	head, rest, nested := strings.Cut(path, ".")
	if !nested {
		n.add(head, value)
		return
	}
	child := n.child(head)
	if child == nil {
		next, _, _ := strings.Cut(rest, ".")
		child = Object()
		if _, err := strconv.Atoi(next); err == nil {
			child = List()
		}
		n.add(head, child)
	}
	child.Put(rest, value)
}

func (n *Node) child(key string) *Node {
	if !n.IsList {
		return n.get(key)
	}
	i, err := strconv.Atoi(key)
	if err != nil || i < 0 || i >= len(n.Items) {
		return nil
	}
	return n.Items[i]
}

func (n *Node) add(key string, value *Node) {
	if n.IsList {
		n.Items = append(n.Items, value)
		return
	}
	n.Set(key, value)
}

// Number is a node of a number as Python writes it: NaN and infinity as words that other readers of JSON may refuse.
func Number(v float64, whole bool) *Node {
	switch {
	case math.IsNaN(v):
		return &Node{Text: "NaN"}
	case math.IsInf(v, 1):
		return &Node{Text: "Infinity"}
	case math.IsInf(v, -1):
		return &Node{Text: "-Infinity"}
	case whole && v == math.Trunc(v) && math.Abs(v) < 1<<63:
		return &Node{Text: strconv.FormatInt(int64(v), 10)}
	}
	return &Node{Text: pyrepr.Float(v)}
}

// Write writes a node as Python does with an indent of two.
func Write(to io.Writer, n *Node) error {
	w := bufio.NewWriter(to)
	n.write(w, "\n")
	return w.Flush()
}

func (n *Node) write(w *bufio.Writer, newline string) {
	opening, closing := "{", "}"
	switch {
	case !n.IsList && !n.IsMap:
		_, _ = w.WriteString(n.Text) // the error stays until Flush
		return
	case n.IsList:
		opening, closing = "[", "]"
	}
	_, _ = w.WriteString(opening)
	for i, item := range n.Items {
		if i > 0 {
			_ = w.WriteByte(',')
		}
		_, _ = w.WriteString(newline + "  ")
		if n.IsMap {
			_, _ = w.WriteString(pyrepr.JSON(n.Keys[i]) + ": ")
		}
		item.write(w, newline+"  ")
	}
	if len(n.Items) > 0 {
		_, _ = w.WriteString(newline)
	}
	_, _ = w.WriteString(closing)
}
