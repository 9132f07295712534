package sglangshapes

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

const (
	mostNamed = 64 // tensors of one op, as in the collector
	deepest   = 32 // lists within lists
)

// tensors describes each tensor of a value, in order, as "mat2: float16[256, 512]".
func tensors(value json.RawMessage, bare, named bool) ([]string, error) {
	w := walker{bare: bare, named: named}
	if err := w.value("", value, 0); err != nil {
		return nil, err
	}
	if more := w.count - len(w.lines); more > 0 {
		w.lines = append(w.lines, fmt.Sprintf("and %d more", more))
	}
	return w.lines, nil
}

// walker goes through JSON in the order in which it is written.
type walker struct {
	bare  bool // a list of numbers is a tensor, as in the older dialect; else it is an argument that is none
	named bool // the outermost object has a value for each argument
	lines []string
	count int
}

func (w *walker) value(path string, value json.RawMessage, depth int) error {
	switch {
	case depth > deepest:
		return fmt.Errorf("lists more than %d deep", deepest)
	case len(value) > 0 && value[0] == '{':
		return w.object(path, value, depth)
	case len(value) > 0 && value[0] == '[':
		return w.list(path, value, depth)
	}
	return nil
}

// object is a tensor, or has a value for each name.
func (w *walker) object(path string, object json.RawMessage, depth int) error {
	members, err := membersOf(object)
	if err != nil {
		return err
	}
	if shape, dtype := members.find("shape"), members.find("dtype"); shape != nil && (depth > 0 || !w.named) {
		return w.tensor(path, dtype, shape)
	}
	for _, m := range members {
		if err := w.value(under(path, m.name), m.value, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// list is a shape, or has several values.
func (w *walker) list(path string, list json.RawMessage, depth int) error {
	var items []json.RawMessage
	if err := json.Unmarshal(list, &items); err != nil {
		return err
	}
	if w.bare && areNumbers(items) {
		return w.tensor(path, nil, list)
	}
	for i, item := range items {
		if err := w.value(under(path, strconv.Itoa(i)), item, depth+1); err != nil {
			return err
		}
	}
	return nil
}

func areNumbers(items []json.RawMessage) bool {
	for _, item := range items {
		if item[0] != '-' && (item[0] < '0' || item[0] > '9') {
			return false
		}
	}
	return true
}

func (w *walker) tensor(path string, dtype, shape json.RawMessage) error {
	var name string
	var sizes []json.Number
	if err := json.Unmarshal(shape, &sizes); err != nil {
		return fmt.Errorf("shape of %q: %w", path, err)
	}
	if dtype != nil {
		if err := json.Unmarshal(dtype, &name); err != nil {
			return fmt.Errorf("dtype of %q: %w", path, err)
		}
	}
	if w.count++; w.count > mostNamed {
		return nil
	}
	text := strings.TrimPrefix(name, "torch.") + "[" + joined(sizes) + "]"
	if w.named {
		text = path + ": " + text
	}
	w.lines = append(w.lines, text)
	return nil
}

func joined(sizes []json.Number) string {
	texts := make([]string, len(sizes))
	for i, size := range sizes {
		texts[i] = size.String()
	}
	return strings.Join(texts, ", ")
}

// member is a name and its value.
type member struct {
	name  string
	value json.RawMessage
}

type members []member

func (m members) find(name string) json.RawMessage {
	for _, one := range m {
		if one.name == name {
			return one.value
		}
	}
	return nil
}

// membersOf has the members of an object in their order, which a map would lose.
func membersOf(object json.RawMessage) (found members, err error) {
	decoder := json.NewDecoder(bytes.NewReader(object))
	if _, err := decoder.Token(); err != nil {
		return nil, err
	}
	for decoder.More() {
		key, err := decoder.Token()
		if err != nil {
			return nil, err
		}
		var m member
		m.name, _ = key.(string)
		if err := decoder.Decode(&m.value); err != nil {
			return nil, err
		}
		found = append(found, m)
	}
	return found, nil
}

func under(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}
