package torchfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
)

// Limits on the values saved around tensors.
const (
	maxDepth = 32
	maxParts = 1 << 16
)

// List is a list or a tuple.
type List []any

// Dict is a dict, in its own order.
type Dict []Item

// Item is one key of a dict with its value.
type Item struct{ Key, Value any }

// Get is the value of a key that is text, nil when there is none.
func (d Dict) Get(key string) any {
	for _, item := range d {
		if item.Key == any(key) {
			return item.Value
		}
	}
	return nil
}

type (
	// DtypeName is a dtype that was saved as such.
	DtypeName string
	// Number is an integer that does not fit into 64 bits, in hexadecimal digits of two's complement, the least first.
	Number string
)

// Read returns the argument of torch.save, or the tensors of a file of safetensors or of SageMaker's debugger by their names: nil, a bool, int64, float64, string, DtypeName, Number or *Tensor, or a
// List or Dict of these. Anything else in the file is an error.
func Read(file io.ReaderAt, size int64) (any, error) {
	head := make([]byte, min(size, eventHead))
	if _, err := file.ReadAt(head, 0); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("read its first bytes: %w", err)
	}
	switch {
	case isEvents(head): // first: its checksum may look like a header of safetensors
		return readEvents(file, size)
	case isSafetensors(head):
		return readSafetensors(file, size)
	case !bytes.HasPrefix(head, []byte("PK")):
		return Open(file, size)
	}
	p, err := readArchive(file, size)
	if err != nil {
		return nil, err
	}
	return (&opening{from: p, mostParts: maxParts}).open(p.value, 0)
}

// wrapped is the tensor that the dumper of SGLang saved in a dict, with its facts about it.
func wrapped(value any) any {
	all, ok := value.(*dict)
	if !ok {
		return value
	}
	for i := 0; i+1 < len(all.items); i += 2 {
		if made, isTensor := all.items[i+1].(*described); isTensor && all.items[i] == any("value") {
			return made
		}
	}
	return value
}

// opening gives the values of a pickle to the outside, and tensors their elements. A pickle of few bytes may hold a part
// many times, or itself: hence the limits.
type opening struct {
	from      *pickled // nil where there are no tensors
	parts     int
	mostParts int
}

func (o *opening) open(value any, depth int) (any, error) {
	if err := o.count(1, depth); err != nil {
		return nil, err
	}
	switch v := value.(type) {
	case nil, bool, int64, float64, string:
		return v, nil
	case long:
		return Number(fmt.Sprintf("%x", string(v))), nil
	case *described:
		if o.from != nil {
			return o.from.place(v)
		}
	case tuple:
		return o.list(v, depth)
	case *list:
		return o.list(v.items, depth)
	case *dict:
		return o.dict(v.items, depth)
	case global:
		if v.role == roleDtype {
			return DtypeName("torch." + v.dtype.String()), nil
		}
	}
	return nil, fmt.Errorf("it holds %s, which is not read", kindOf(value))
}

// count refuses more parts than fit, before they take memory.
func (o *opening) count(parts, depth int) error {
	if depth > maxDepth || parts > o.mostParts-o.parts {
		return fmt.Errorf("it holds more than %d values, or more than %d inside each other", o.mostParts, maxDepth)
	}
	o.parts++
	return nil
}

func (o *opening) list(items []any, depth int) (any, error) {
	if err := o.count(len(items), depth); err != nil {
		return nil, err
	}
	opened := make(List, len(items))
	for i, item := range items {
		var err error
		if opened[i], err = o.open(item, depth+1); err != nil {
			return nil, err
		}
	}
	return opened, nil
}

func (o *opening) dict(items []any, depth int) (any, error) {
	if err := o.count(len(items), depth); err != nil {
		return nil, err
	}
	opened := make(Dict, len(items)/2)
	for i := range opened {
		key, err := o.open(items[2*i], depth+1)
		if err != nil {
			return nil, err
		}
		value, err := o.open(items[2*i+1], depth+1)
		if err != nil {
			return nil, err
		}
		opened[i] = Item{Key: key, Value: value}
	}
	return opened, nil
}
