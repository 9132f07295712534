package torchfile

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"

	"google.golang.org/protobuf/encoding/protowire"
)

// Sizes in a record of TensorFlow: its length with a checksum, the content, a checksum. SageMaker's debugger, whose records
// these are, writes the second one of no content.
const (
	eventHead = 12
	eventTail = 4
)

// masked is how a checksum is written.
func masked(text []byte) uint32 {
	sum := crc32.Checksum(text, crc32.MakeTable(crc32.Castagnoli))
	return (sum>>15 | sum<<17) + 0xa282ead8
}

// isEvents says whether the file's first bytes are the length of a record.
func isEvents(head []byte) bool {
	return len(head) >= eventHead && binary.LittleEndian.Uint32(head[8:]) == masked(head[:8])
}

// Fields of TensorFlow's Event, Summary, Summary.Value, TensorProto, TensorShapeProto and its Dim.
const (
	eventSummary   protowire.Number = 5
	summaryValue   protowire.Number = 1
	valueTag       protowire.Number = 1
	valueTensor    protowire.Number = 8
	tensorDtype    protowire.Number = 1
	tensorShape    protowire.Number = 2
	tensorContent  protowire.Number = 4
	shapeDimension protowire.Number = 2
	dimensionSize  protowire.Number = 1
)

// readEvents finds all tensors of the file by their tags, in its order.
func readEvents(file io.ReaderAt, size int64) (Dict, error) {
	all := values{}
	head := make([]byte, eventHead)
	for at := int64(0); at < size; {
		if err := readFull(file, head, at); err != nil {
			return nil, fmt.Errorf("read the record at byte %d: %w", at, err)
		}
		length := binary.LittleEndian.Uint64(head)
		if rest := size - at - eventHead - eventTail; !isEvents(head) || length > math.MaxInt64 || int64(length) > rest { //nolint:gosec // just bounded
			return nil, fmt.Errorf("the record at byte %d has %d bytes, of %d that there are: its length is damaged, or it is cut", at, length, rest)
		}
		from := at + eventHead
		at = from + int64(length) + eventTail //nolint:gosec // just bounded
		err := within(file, from, at-eventTail, func(f field) error {
			if f.number != eventSummary {
				return nil
			}
			return f.each(file, func(f field) error { return all.add(file, f) })
		})
		if err != nil {
			return nil, fmt.Errorf("read the record at byte %d: %w", from-eventHead, err)
		}
		if len(all) > maxParts {
			return nil, fmt.Errorf("more than %d tensors", maxParts)
		}
	}
	return Dict(all), nil
}

// values are tensors by their tags.
type values []Item

// add keeps a value of a summary that is a tensor.
func (v *values) add(file io.ReaderAt, f field) error {
	if f.number != summaryValue {
		return nil
	}
	tag, tensor := "", field{}
	err := f.each(file, func(f field) (err error) {
		switch f.number {
		case valueTag:
			tag, err = f.text(file)
		case valueTensor:
			tensor = f
		default:
		}
		return err
	})
	if err != nil || tensor.number == 0 {
		return err
	}
	t, err := tensor.tensor(file)
	if err != nil {
		return fmt.Errorf("tensor %.100q: %w", tag, err)
	}
	*v = append(*v, Item{Key: tag, Value: t})
	return nil
}

// field is one of a message that lies in a file.
type field struct {
	number   protowire.Number
	value    uint64 // of a number
	from, to int64  // of a message or a text
}

// tensor is that of a TensorProto with its elements in one piece.
func (f field) tensor(file io.ReaderAt) (*Tensor, error) {
	t := &Tensor{Shape: []int64{}}
	var content field
	err := f.each(file, func(f field) error {
		switch f.number {
		case tensorDtype:
			t.Dtype = tensorflowDtype(f.value)
		case tensorContent:
			content = f
		case tensorShape:
			return f.each(file, func(f field) error { return t.addDimension(file, f) })
		default:
		}
		return nil
	})
	if err == nil && (t.Dtype == 0 || content.number == 0) {
		err = errors.New("it has a type of elements that is not read, or has them one by one")
	}
	if err != nil {
		return nil, err
	}
	t.Stride = denseStride(t.Shape, false)
	return t.place(file, content.from, content.to-content.from)
}

func (t *Tensor) addDimension(file io.ReaderAt, f field) error {
	if f.number != shapeDimension {
		return nil
	}
	if len(t.Shape) == maxDimensions {
		return errors.New("too many dimensions")
	}
	t.Shape = append(t.Shape, 0)
	return f.each(file, func(f field) error {
		if f.number == dimensionSize {
			t.Shape[len(t.Shape)-1] = int64(f.value) //nolint:gosec // place refuses what is negative
		}
		return nil
	})
}

// tensorflowDtype is the type of that number in TensorFlow, 0 when it is not read.
func tensorflowDtype(number uint64) Dtype {
	return map[uint64]Dtype{
		1: Float32, 2: Float64, 3: Int32, 4: Uint8, 5: Int16, 6: Int8, 8: Complex64, 9: Int64, 10: Bool,
		14: BFloat16, 17: Uint16, 18: Complex128, 19: Float16, 22: Uint32, 23: Uint64,
	}[number]
}

func (f field) text(file io.ReaderAt) (string, error) {
	if f.to-f.from > maxHeaderBytes {
		return "", fmt.Errorf("a name of %d bytes, limit %d", f.to-f.from, maxHeaderBytes)
	}
	text := make([]byte, f.to-f.from)
	err := readFull(file, text, f.from)
	return string(text), err
}

func (f field) each(file io.ReaderAt, visit func(field) error) error {
	return within(file, f.from, f.to, visit)
}

// within visits the fields of the message between two bytes of a file. Of texts only their places are read.
func within(file io.ReaderAt, from, to int64, visit func(field) error) error {
	buffer := make([]byte, 2*binary.MaxVarintLen64)
	for from < to {
		head := buffer[:min(int64(len(buffer)), to-from)]
		if err := readFull(file, head, from); err != nil {
			return err
		}
		f, size, err := fieldOf(head, from)
		if err != nil {
			return err
		}
		if size > to-from {
			return fmt.Errorf("a field at byte %d has %d bytes, of %d that there are", from, size, to-from)
		}
		if err := visit(f); err != nil {
			return err
		}
		from += size
	}
	return nil
}

// fieldOf is the field that begins with those bytes, at that place in the file, and its size.
func fieldOf(head []byte, at int64) (f field, size int64, err error) {
	number, kind, n := protowire.ConsumeTag(head)
	if n < 0 {
		return f, 0, protowire.ParseError(n)
	}
	f.number = number
	if kind == protowire.Fixed64Type {
		return f, int64(n) + 8, nil
	}
	if kind == protowire.Fixed32Type {
		return f, int64(n) + 4, nil
	}
	value, m := protowire.ConsumeVarint(head[n:])
	if m < 0 {
		return f, 0, protowire.ParseError(m)
	}
	size = int64(n + m)
	switch {
	case kind == protowire.VarintType:
		f.value = value
	case kind == protowire.BytesType && value < math.MaxInt64/2:
		f.from, f.to = at+size, at+size+int64(value) //nolint:gosec // just bounded
		size = f.to - at
	default:
		return f, 0, fmt.Errorf("a field at byte %d of kind %d, which is not read", at, kind)
	}
	return f, size, nil
}
