package corpus

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Node is a JSON value as it stands in a file: keys in their order, and numbers
// as they were written, NaN and Infinity among them.
type Node struct {
	Open  byte // '{', '[', or 0 for a scalar
	Keys  []string
	Items []*Node // of an object, beside Keys
	Text  string  // of a scalar, with a string's quotes
}

// Parse reads one JSON value, in Python's dialect.
func Parse(text string) (*Node, error) {
	p := parser{text: text}
	n, err := p.value()
	if err != nil {
		return nil, fmt.Errorf("read JSON at byte %d: %w", p.at, err)
	}
	return n, nil
}

// Scalar is a value that stands in a file as that text.
func Scalar(text string) *Node { return &Node{Text: text} }

// Quoted is a string.
func Quoted(text string) *Node {
	bytes, _ := json.Marshal(text) // of a string, cannot fail
	return Scalar(string(bytes))
}

// Get is the member of an object, or nil.
func (n *Node) Get(key string) *Node {
	if n == nil {
		return nil
	}
	for i, k := range n.Keys {
		if k == key {
			return n.Items[i]
		}
	}
	return nil
}

// Set gives an object a member, at its old place or at the end.
func (n *Node) Set(key string, value *Node) {
	for i, k := range n.Keys {
		if k == key {
			n.Items[i] = value
			return
		}
	}
	n.Keys, n.Items = append(n.Keys, key), append(n.Items, value)
}

// Clone copies a value with all that is in it.
func (n *Node) Clone() *Node {
	if n == nil {
		return nil
	}
	twin := &Node{Open: n.Open, Keys: append([]string(nil), n.Keys...), Text: n.Text}
	for _, item := range n.Items {
		twin.Items = append(twin.Items, item.Clone())
	}
	return twin
}

// String is the value without blanks, the same for the same value; empty for nil.
func (n *Node) String() string {
	var b strings.Builder
	n.write(&b, "", "")
	return b.String()
}

// Indented is the value as Python's json.dump(indent=1) writes it.
func (n *Node) Indented() string {
	var b strings.Builder
	n.write(&b, "\n", " ")
	return b.String()
}

func (n *Node) write(b *strings.Builder, line, indent string) {
	if n == nil {
		return
	}
	if n.Open == 0 {
		b.WriteString(n.Text)
		return
	}
	b.WriteByte(n.Open)
	inner := line
	if line != "" {
		inner += indent
	}
	for i, item := range n.Items {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(inner)
		if n.Open == '{' {
			b.WriteString(Quoted(n.Keys[i]).Text)
			b.WriteString(": ")
		}
		item.write(b, inner, indent)
	}
	if len(n.Items) > 0 {
		b.WriteString(line)
	}
	b.WriteByte(n.Open + 2) // '{' and '}', '[' and ']' are two apart
}

// parser walks over the text of a value.
type parser struct {
	text string
	at   int
}

func (p *parser) blanks() byte {
	for p.at < len(p.text) && strings.IndexByte(" \t\r\n", p.text[p.at]) >= 0 {
		p.at++
	}
	if p.at == len(p.text) {
		return 0
	}
	return p.text[p.at]
}

func (p *parser) value() (*Node, error) {
	switch c := p.blanks(); c {
	case 0:
		return nil, fmt.Errorf("the text ends")
	case '{', '[':
		return p.collection(c)
	case '"':
		return p.quoted()
	default:
		begin := p.at
		for p.at < len(p.text) && strings.IndexByte(",]} \t\r\n", p.text[p.at]) < 0 {
			p.at++
		}
		return Scalar(p.text[begin:p.at]), nil
	}
}

func (p *parser) quoted() (*Node, error) {
	begin := p.at
	for p.at++; p.at < len(p.text) && p.text[p.at] != '"'; p.at++ {
		if p.text[p.at] == '\\' {
			p.at++
		}
	}
	if p.at >= len(p.text) {
		return nil, fmt.Errorf("a string that began at byte %d has no end", begin)
	}
	p.at++
	return Scalar(p.text[begin:p.at]), nil
}

func (p *parser) collection(open byte) (*Node, error) {
	n := &Node{Open: open}
	p.at++
	for {
		switch c := p.blanks(); c {
		case open + 2:
			p.at++
			return n, nil
		case ',':
			p.at++
			continue
		}
		if open == '{' {
			if err := p.key(n); err != nil {
				return nil, err
			}
		}
		item, err := p.value()
		if err != nil {
			return nil, err
		}
		n.Items = append(n.Items, item)
	}
}

func (p *parser) key(n *Node) error {
	word, err := p.quoted()
	if err != nil {
		return err
	}
	var key string
	if err := json.Unmarshal([]byte(word.Text), &key); err != nil {
		return err
	}
	n.Keys = append(n.Keys, key)
	if p.blanks() != ':' {
		return fmt.Errorf("no colon behind %s", word.Text)
	}
	p.at++
	return nil
}
