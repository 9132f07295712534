package torchfile

import (
	"fmt"
	"strconv"
	"strings"
)

// Named is a tensor with its place in what was saved: keys and numbers, joined by dots; empty for a tensor alone.
type Named struct {
	Name   string
	Tensor *Tensor
}

// Tensors are all of a value that Read returned, in its order.
func Tensors(value any) []Named { return under(nil, "", value) }

func under(found []Named, name string, value any) []Named {
	switch v := value.(type) {
	case *Tensor:
		return append(found, Named{name, v})
	case List:
		for i, item := range v {
			found = under(found, strings.TrimPrefix(name+"."+strconv.Itoa(i), "."), item)
		}
	case Dict:
		for _, item := range v {
			found = under(found, strings.TrimPrefix(fmt.Sprintf("%s.%v", name, item.Key), "."), item.Value)
		}
	}
	return found
}

// At reads the bytes of one element, into as many as the type has.
func (t *Tensor) At(to []byte, index []int64) error {
	at := t.Offset
	for i, n := range index {
		if n < 0 || n >= t.Shape[i] {
			return fmt.Errorf("index %v of a tensor of shape %v", index, t.Shape)
		}
		at += n * t.Stride[i]
	}
	return readFull(t.storage, to[:t.Dtype.Size()], at*t.Dtype.Size())
}
