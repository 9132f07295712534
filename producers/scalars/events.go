package scalars

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"

	"google.golang.org/protobuf/encoding/protowire"
)

// mostRecord bounds a record of an event file: histograms and images may be large, and are passed over.
const mostRecord = 256 << 20

// errCut says that a file ends within a record.
var errCut = errors.New("it ends within a record")

// scalar is a number with its name.
type scalar struct {
	name   string
	value  float64
	step   *uint32
	timeNs int64  // 0 when it is not known
	digits int16  // decimals; -1 when it is exact
	source string // kind of what it was in, where that is not the file's
}

// events reads TensorBoard's event files: records of TensorFlow with an Event in each.
type events struct {
	input *bufio.Reader
	at    int64
	table *crc32.Table
}

func newEvents(input io.Reader) *events {
	return &events{input: bufio.NewReaderSize(input, 1<<16), table: crc32.MakeTable(crc32.Castagnoli)}
}

// masked is how a record's checksums are written.
func masked(sum uint32) uint32 { return (sum>>15 | sum<<17) + 0xa282ead8 }

// next is the content of the next record, and where it began. io.EOF ends the file. A damaged record is an error that
// damaged says, and the next follows; any other error ends the reading.
func (e *events) next() (content []byte, from int64, err error) {
	from = e.at
	var head [12]byte
	if err := e.read(head[:]); err != nil {
		return nil, from, err
	}
	size := binary.LittleEndian.Uint64(head[:8])
	if masked(crc32.Checksum(head[:8], e.table)) != binary.LittleEndian.Uint32(head[8:]) {
		return nil, from, errors.New("the length of a record is damaged: nothing behind it can be read")
	}
	if size > mostRecord {
		return nil, from, fmt.Errorf("a record of %d bytes, limit %d", size, mostRecord)
	}
	content, err = e.take(int(size)) //nolint:gosec // just bounded
	if err != nil {
		return nil, from, err
	}
	var sum [4]byte
	if err := e.read(sum[:]); err != nil {
		return nil, from, cut(err)
	}
	if !e.isOf(binary.LittleEndian.Uint32(sum[:]), content) {
		err = errDamaged
	}
	return content, from, err
}

// unchecked is what SageMaker's debugger takes the checksum of in the place of a content, which spares it the time.
const unchecked = "0x12345678"

func (e *events) isOf(sum uint32, content []byte) bool {
	return sum == masked(crc32.Checksum(content, e.table)) || sum == masked(crc32.Checksum([]byte(unchecked), e.table))
}

// errDamaged says that a record has other bytes than were written.
var errDamaged = errors.New("its checksum is not that of its bytes")

func (e *events) read(to []byte) error {
	n, err := io.ReadFull(e.input, to)
	e.at += int64(n)
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return errCut
	}
	return err
}

// take reads so many bytes, and takes memory as they come: the length may be that of no file.
func (e *events) take(size int) ([]byte, error) {
	content, err := io.ReadAll(io.LimitReader(e.input, int64(size)))
	e.at += int64(len(content))
	if err == nil && len(content) < size {
		err = errCut
	}
	return content, err
}

func cut(err error) error {
	if errors.Is(err, io.EOF) {
		return errCut
	}
	return err
}

// Fields of TensorFlow's Event, Summary, Summary.Value, SummaryMetadata and TensorProto.
const (
	eventTime    protowire.Number = 1
	eventStep    protowire.Number = 2
	eventSummary protowire.Number = 5

	summaryValue protowire.Number = 1

	valueTag    protowire.Number = 1
	valueSimple protowire.Number = 2
	valueTensor protowire.Number = 8
	valueAbout  protowire.Number = 9

	aboutPlugin   protowire.Number = 1
	pluginName    protowire.Number = 1
	pluginContent protowire.Number = 2

	tensorDtype   protowire.Number = 1
	tensorShape   protowire.Number = 2
	tensorContent protowire.Number = 4
	tensorFloats  protowire.Number = 5
	tensorDoubles protowire.Number = 6
)

const (
	dtypeFloat  = 1
	dtypeDouble = 2
)

// scalarsOf are the numbers of an Event. Its histograms, images and texts are no numbers.
func scalarsOf(event []byte) ([]scalar, error) {
	var (
		found  []scalar
		timeNs int64
		step   int64
	)
	err := fields(event, func(field protowire.Number, of wire) error {
		switch field {
		case eventTime:
			timeNs = nanoseconds(math.Float64frombits(of.number))
		case eventStep:
			step = int64(of.number) //nolint:gosec // its 64 bits
		case eventSummary:
			return fields(of.text, func(field protowire.Number, of wire) error {
				if field != summaryValue {
					return nil
				}
				one, isScalar, err := scalarOf(of.text)
				if isScalar {
					found = append(found, one)
				}
				return err
			})
		default:
		}
		return nil
	})
	for i := range found {
		found[i].timeNs, found[i].digits = timeNs, -1
		if step >= 0 && step <= math.MaxUint32 {
			of := uint32(step)
			found[i].step = &of
		}
	}
	return found, err
}

func nanoseconds(seconds float64) int64 {
	const most = float64(math.MaxInt64) / 1e9
	if math.IsNaN(seconds) || seconds <= 0 || seconds >= most {
		return 0
	}
	return int64(seconds * 1e9)
}

// scalarOf is a value of a summary, as simple_value or as a tensor of one element.
func scalarOf(value []byte) (one scalar, isScalar bool, err error) {
	err = fields(value, func(field protowire.Number, of wire) error {
		switch field {
		case valueTag:
			one.name = string(of.text)
		case valueSimple:
			one.value, isScalar = float64(math.Float32frombits(uint32(of.number))), true //nolint:gosec // 32 bits
		case valueTensor:
			var err error
			one.value, isScalar, err = element(of.text)
			return err
		case valueAbout:
			return one.about(of.text)
		default:
		}
		return nil
	})
	return one, isScalar, err
}

// about reads SummaryMetadata: SageMaker's debugger says there in which mode a step was.
func (one *scalar) about(metadata []byte) error {
	return fields(metadata, func(field protowire.Number, of wire) error {
		if field != aboutPlugin {
			return nil
		}
		var name, content string
		err := fields(of.text, func(field protowire.Number, of wire) error {
			switch field {
			case pluginName:
				name = string(of.text)
			case pluginContent:
				content = string(of.text)
			default:
			}
			return nil
		})
		if mode := modeOf(content); name == "mode" && mode != "" {
			one.source = ofDebugger + " " + mode
		}
		return err
	})
}

// modeOf is a mode by its number in SageMaker's debugger.
func modeOf(number string) string {
	return map[string]string{"1": "train", "2": "eval", "3": "predict", "4": "global"}[number]
}

// element is that of a tensor of floating point without dimensions, or with dimensions of 1 alone, as SageMaker's debugger has them.
func element(tensor []byte) (value float64, isScalar bool, err error) {
	var dtype uint64
	var content []byte
	var values []float64
	isOne := true
	err = fields(tensor, func(field protowire.Number, of wire) error {
		switch field {
		case tensorDtype:
			dtype = of.number
		case tensorShape:
			isOne = isOfOne(of.text)
		case tensorContent:
			content = of.text
		case tensorFloats:
			values = append(values, floats(of, 4)...)
		case tensorDoubles:
			values = append(values, floats(of, 8)...)
		default:
		}
		return nil
	})
	switch {
	case dtype == dtypeFloat && len(content) == 4:
		values = floats(wire{text: content}, 4)
	case dtype == dtypeDouble && len(content) == 8:
		values = floats(wire{text: content}, 8)
	}
	if err != nil || !isOne || len(values) != 1 {
		return 0, false, err
	}
	return values[0], true, nil
}

// isOfOne says whether a TensorShapeProto has room for one element.
func isOfOne(shape []byte) bool {
	const dimension, size protowire.Number = 2, 1
	isOne := true
	err := fields(shape, func(field protowire.Number, of wire) error {
		length := uint64(0)
		err := fields(of.text, func(field protowire.Number, of wire) error {
			if field == size {
				length = of.number
			}
			return nil
		})
		isOne = isOne && field == dimension && length == 1
		return err
	})
	return err == nil && isOne
}

// floats are those of a field, packed or one.
func floats(of wire, size int) []float64 {
	text := of.text
	if text == nil {
		text = binary.LittleEndian.AppendUint64(nil, of.number)[:size]
	}
	var values []float64
	for ; len(text) >= size; text = text[size:] {
		if size == 4 {
			values = append(values, float64(math.Float32frombits(binary.LittleEndian.Uint32(text))))
		} else {
			values = append(values, math.Float64frombits(binary.LittleEndian.Uint64(text)))
		}
	}
	return values
}

// wire is the value of a field.
type wire struct {
	number uint64
	text   []byte // nil for a number
}

// fields visits those of a message.
func fields(message []byte, visit func(protowire.Number, wire) error) error {
	for len(message) > 0 {
		field, kind, n := protowire.ConsumeTag(message)
		if n < 0 {
			return protowire.ParseError(n)
		}
		message = message[n:]
		var value wire
		value, n = consume(field, kind, message)
		if n < 0 {
			return protowire.ParseError(n)
		}
		message = message[n:]
		if err := visit(field, value); err != nil {
			return err
		}
	}
	return nil
}

func consume(field protowire.Number, kind protowire.Type, message []byte) (value wire, n int) {
	switch kind {
	case protowire.VarintType:
		value.number, n = protowire.ConsumeVarint(message)
	case protowire.Fixed32Type:
		var bits uint32
		bits, n = protowire.ConsumeFixed32(message)
		value.number = uint64(bits)
	case protowire.Fixed64Type:
		value.number, n = protowire.ConsumeFixed64(message)
	case protowire.BytesType:
		value.text, n = protowire.ConsumeBytes(message)
	case protowire.StartGroupType, protowire.EndGroupType:
		n = protowire.ConsumeFieldValue(field, kind, message)
	}
	return value, n
}
