package torchfile

import (
	"bytes"
	"fmt"
)

// Limits on a pickle of plain values.
const (
	maxPlainBytes = 64 << 20
	maxPlainParts = 1 << 22
)

// Plain reads a pickle that holds no tensors: nil, a bool, int64, float64, string or Number, or a List or Dict of these.
// Of a damaged one it returns, in the order of the file, the parts that were whole before the damage, beside the error.
func Plain(text []byte) (List, error) {
	if len(text) > maxPlainBytes {
		return nil, fmt.Errorf("a pickle of %d bytes, limit %d", len(text), maxPlainBytes)
	}
	in := newInput(bytes.NewReader(text))
	in.most = maxPlainBytes
	m := &machine{in: in}
	value, damage := m.run()
	values := []any{value}
	if damage != nil {
		values = m.stack
	}
	opened, err := (&opening{mostParts: maxPlainParts}).wholeParts(values)
	if damage == nil {
		damage = err
	}
	return opened, damage
}

// wholeParts leaves out what cannot be given to the outside.
func (o *opening) wholeParts(values []any) (List, error) {
	var (
		opened List
		first  error
	)
	for _, value := range values {
		part, err := o.open(value, 0)
		if err == nil {
			opened = append(opened, part)
		} else if first == nil {
			first = err
		}
	}
	return opened, first
}
