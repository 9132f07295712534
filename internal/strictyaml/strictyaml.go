// Package strictyaml reads YAML files with known keys. It refuses an unknown key and names the
// nearest known one. Every error has file, line and column.
package strictyaml

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"
)

// MaxBytes is the greatest size of a file.
const MaxBytes = 4 << 20

// Error is something wrong at one place of a file.
type Error struct {
	File         string
	Line, Column int // from 1 on; 0 where the place is not known
	Message      string
}

// Error names the place as compilers do.
func (e *Error) Error() string {
	switch {
	case e.Line == 0:
		return fmt.Sprintf("%s: %s", e.File, e.Message)
	case e.Column == 0:
		return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Message)
	}
	return fmt.Sprintf("%s:%d:%d: %s", e.File, e.Line, e.Column, e.Message)
}

// Node is a value of a file.
type Node struct {
	file string
	yaml *yaml.Node
}

// Field is a key of a mapping and its value.
type Field struct{ Key, Value Node }

// Parse reads a file of one document; name is the file's, for errors.
func Parse(name string, text []byte) (Node, error) {
	if len(text) > MaxBytes {
		return Node{}, &Error{File: name, Message: fmt.Sprintf("%d bytes are more than %d", len(text), MaxBytes)}
	}
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	var document, second yaml.Node
	if err := decoder.Decode(&document); err != nil {
		if errors.Is(err, io.EOF) {
			return Node{}, &Error{File: name, Message: "the file is empty"}
		}
		return Node{}, syntaxError(name, err)
	}
	switch err := decoder.Decode(&second); {
	case err == nil:
		return Node{}, &Error{File: name, Line: second.Line, Column: second.Column, Message: "a second document: one file holds one"}
	case !errors.Is(err, io.EOF):
		return Node{}, syntaxError(name, err)
	}
	if len(document.Content) != 1 {
		return Node{}, &Error{File: name, Message: "the file is empty"}
	}
	return Node{file: name, yaml: document.Content[0]}, nil
}

func syntaxError(name string, err error) error {
	wrong := &Error{File: name, Message: strings.TrimPrefix(err.Error(), "yaml: ")}
	if load, ok := errors.AsType[*yaml.LoadError](err); ok {
		wrong.Line, wrong.Column, wrong.Message = load.Mark.Line, load.Mark.Column, load.Message
	}
	return wrong
}

// IsZero says whether there is no value at all, as of a key that is missing.
func (n Node) IsZero() bool { return n.yaml == nil }

// Line is the line where the value begins, from 1 on.
func (n Node) Line() int { return n.yaml.Line }

// Errorf is an error at the value.
func (n Node) Errorf(format string, values ...any) error {
	return &Error{File: n.file, Line: n.yaml.Line, Column: n.yaml.Column, Message: fmt.Sprintf(format, values...)}
}

// IsMapping says whether the value is keys with values.
func (n Node) IsMapping() bool { return n.value().Kind == yaml.MappingNode }

// IsList says whether the value is a list.
func (n Node) IsList() bool { return n.value().Kind == yaml.SequenceNode }

// IsNumber says whether the value is one, by YAML's rules.
func (n Node) IsNumber() bool { return n.value().Tag == "!!int" || n.value().Tag == "!!float" }

// value is the node that an alias stands for.
func (n Node) value() *yaml.Node {
	if n.yaml.Kind == yaml.AliasNode && n.yaml.Alias != nil {
		return n.yaml.Alias
	}
	return n.yaml
}

// Fields are the keys of a mapping with their values, in the order of the file. A key that stands twice is an error.
func (n Node) Fields() ([]Field, error) {
	if !n.IsMapping() {
		return nil, n.Errorf("want keys with values, not %s", n.kind())
	}
	content := n.value().Content
	fields := make([]Field, 0, len(content)/2)
	lines := make(map[string]int, len(content)/2)
	for i := 0; i+1 < len(content); i += 2 {
		key := Node{n.file, content[i]}
		name, err := key.Text()
		if err != nil {
			return nil, err
		}
		if line, twice := lines[name]; twice {
			return nil, key.Errorf("key %q stands in line %d already", name, line)
		}
		lines[name] = key.Line()
		fields = append(fields, Field{key, Node{n.file, content[i+1]}})
	}
	return fields, nil
}

// Keys are the values of a mapping by their keys, which must be among those known.
func (n Node) Keys(known ...string) (map[string]Node, error) {
	fields, err := n.Fields()
	if err != nil {
		return nil, err
	}
	values := make(map[string]Node, len(fields))
	for _, f := range fields {
		name := f.Key.yaml.Value
		if !slices.Contains(known, name) {
			return nil, f.Key.Errorf("key %q is not known%s", name, Hint(name, known))
		}
		values[name] = f.Value
	}
	return values, nil
}

// List are the values of a list.
func (n Node) List() ([]Node, error) {
	if !n.IsList() {
		return nil, n.Errorf("want a list, not %s", n.kind())
	}
	nodes := make([]Node, len(n.value().Content))
	for i, item := range n.value().Content {
		nodes[i] = Node{n.file, item}
	}
	return nodes, nil
}

// Text is the value as it is written, which must not be empty.
func (n Node) Text() (string, error) {
	v := n.value()
	if v.Kind != yaml.ScalarNode || v.Tag == "!!null" || v.Value == "" {
		return "", n.Errorf("want text, not %s", n.kind())
	}
	return v.Value, nil
}

// Texts are the texts of a list, or a single text.
func (n Node) Texts() ([]string, error) {
	items := []Node{n}
	if n.IsList() {
		items, _ = n.List()
	}
	texts := make([]string, len(items))
	for i, item := range items {
		text, err := item.Text()
		if err != nil {
			return nil, err
		}
		texts[i] = text
	}
	return texts, nil
}

// Bool is true or false.
func (n Node) Bool() (bool, error) {
	switch v := n.value(); {
	case v.Kind == yaml.ScalarNode && v.Tag == "!!bool" && strings.EqualFold(v.Value, "true"):
		return true, nil
	case v.Kind == yaml.ScalarNode && v.Tag == "!!bool" && strings.EqualFold(v.Value, "false"):
		return false, nil
	}
	return false, n.Errorf("want true or false, not %s", n.kind())
}

// Int is a whole number from least to greatest.
func (n Node) Int(least, greatest int64) (int64, error) {
	v, err := strconv.ParseInt(n.value().Value, 10, 64)
	if n.value().Kind != yaml.ScalarNode || err != nil || v < least || v > greatest {
		return 0, n.Errorf("want a whole number from %s, not %s", span(least, greatest), n.kind())
	}
	return v, nil
}

func span(least, greatest int64) string {
	if greatest == math.MaxInt64 {
		return fmt.Sprintf("%d on", least)
	}
	return fmt.Sprintf("%d to %d", least, greatest)
}

// kind names the kind of the value, for an error.
func (n Node) kind() string {
	switch v := n.value(); {
	case v.Kind == yaml.MappingNode:
		return "keys with values"
	case v.Kind == yaml.SequenceNode:
		return "a list"
	case v.Tag == "!!null" || v.Value == "":
		return "nothing"
	default:
		return strconv.Quote(shortened(v.Value))
	}
}

func shortened(text string) string {
	const most = 60
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return text
}
