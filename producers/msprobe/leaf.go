package msprobe

import (
	"math"
	"strings"
)

const (
	kindTensor = "tensor"
	kindInt    = "int"
	kindFloat  = "float"
	kindBool   = "bool"
	kindText   = "str"
	kindNone   = "none"
	kindSize   = "size"
	kindDtype  = "dtype"
	kindDevice = "device"
	kindSlice  = "slice"
	kindGroup  = "group"
	kindOther  = "other"

	peerOpType = "torch.distributed.P2POp"
)

// leaf is one record of a tensor or another argument while it is read. Its buffers are used again for the next one.
type leaf struct {
	typ      string
	class    string // class_type, of point-to-point operations
	dtype    string
	shape    []int64
	hasShape bool
	grad     int8 // requires_grad: -1 not known

	statistics
	digest digest
	file   string // data_name

	hasValue bool
	isNumber bool
	number   float64
	literal  []byte // the value, as text
	extra    []byte // members of no other meaning, as compact JSON without the braces
}

// statistics are the measurements of a tensor's elements, by the bits of tensor.measured.
type statistics struct {
	measured                uint32
	least, most, mean, norm float64
}

// digest is a checksum of a tensor's elements, by the kinds of tensor.digest_kind.
type digest struct {
	value uint64
	kind  uint8
}

func (l *leaf) reset() {
	*l = leaf{shape: l.shape[:0], literal: l.literal[:0], extra: l.extra[:0], grad: -1}
}

// kind is the layout's kind by the type in the record.
func (l *leaf) kind() string {
	if l.hasShape && l.dtype != "" {
		return kindTensor
	}
	switch l.typ {
	case "torch.Tensor", "mindspore.Tensor", "BatchedTensor", "numpy.ndarray", "torch.distributed.tensor.DTensor":
		return kindTensor
	case "torch.Size":
		return kindSize
	case "torch.dtype", "mindspore.dtype":
		return kindDtype
	case "torch.device":
		return kindDevice
	case "slice":
		return kindSlice
	case "torch.ProcessGroup", "mindspore.ProcessGroup":
		return kindGroup
	}
	return scalarKind(l.typ)
}

// scalarKind is the kind of Python's and NumPy's scalars; their type is the bare name of their
// class.
func scalarKind(typ string) string {
	base := strings.TrimRight(strings.TrimPrefix(typ, "u"), "0123456789_")
	switch base {
	case kindInt, kindFloat, kindBool, kindText:
		return base
	}
	return kindOther
}

// elements is the number of elements of a shape: 1 of a scalar, the greatest number when it does not fit.
func elements(shape []int64) uint64 {
	count := uint64(1)
	for _, n := range shape {
		if n <= 0 {
			return 0
		}
		if count > math.MaxUint64/uint64(n) {
			count = math.MaxUint64
			continue
		}
		count *= uint64(n)
	}
	return count
}
