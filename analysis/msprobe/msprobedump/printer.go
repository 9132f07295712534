package msprobedump

import (
	"bufio"
	"io"

	"github.com/tensortap/tensortap/analysis/msprobe/internal/pyrepr"
)

// printer writes JSON as Python's json.dump does with an indent of one, in which NaN and Infinity are words.
type printer struct {
	out *bufio.Writer
}

func newPrinter(to io.Writer) *printer { return &printer{out: bufio.NewWriterSize(to, 1<<20)} }

// node is a value of JSON: a list, an object when it has keys, or else a token as it stands in the text.
type node struct {
	token string
	list  bool
	keys  []string // of an object
	items []*node
}

func token(text string) *node { return &node{token: text} }

func text(s string) *node { return token(pyrepr.JSON(s)) }

func list(items ...*node) *node { return &node{list: true, items: items} }

func object() *node { return &node{keys: []string{}} }

func (n *node) add(key string, value *node) *node {
	n.keys = append(n.keys, key)
	n.items = append(n.items, value)
	return n
}

// print writes the value at that depth.
func (p *printer) print(n *node, depth int) {
	switch {
	case n.list:
		p.brackets('[', ']', len(n.items), depth, func(i int) { p.print(n.items[i], depth+1) })
	case n.keys != nil:
		p.brackets('{', '}', len(n.items), depth, func(i int) {
			p.key(n.keys[i])
			p.print(n.items[i], depth+1)
		})
	default:
		p.word(n.token)
	}
}

// brackets writes a list or an object of so many members.
func (p *printer) brackets(begin, end byte, count, depth int, member func(i int)) {
	p.letter(begin)
	for i := range count {
		if i > 0 {
			p.letter(',')
		}
		p.line(depth + 1)
		member(i)
	}
	if count > 0 {
		p.line(depth)
	}
	p.letter(end)
}

func (p *printer) key(name string) {
	p.word(pyrepr.JSON(name))
	p.word(": ")
}

func (p *printer) line(depth int) {
	p.letter('\n')
	for range depth {
		p.letter(' ')
	}
}

// word and letter leave errors to the flush, which repeats the first.
func (p *printer) word(s string) { _, _ = p.out.WriteString(s) }

func (p *printer) letter(c byte) { _ = p.out.WriteByte(c) }
