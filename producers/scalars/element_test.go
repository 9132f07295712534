package scalars

import (
	"encoding/binary"
	"math"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
)

// tensorOf is a TensorProto of one float32 that stands for all elements of a shape.
func tensorOf(value float32, shape ...uint64) []byte {
	var dimensions []byte
	for _, size := range shape {
		dimension := protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), size)
		dimensions = protowire.AppendBytes(protowire.AppendTag(dimensions, 2, protowire.BytesType), dimension)
	}
	tensor := protowire.AppendVarint(protowire.AppendTag(nil, tensorDtype, protowire.VarintType), dtypeFloat)
	tensor = protowire.AppendBytes(protowire.AppendTag(tensor, tensorShape, protowire.BytesType), dimensions)
	content := binary.LittleEndian.AppendUint32(nil, math.Float32bits(value))
	return protowire.AppendBytes(protowire.AppendTag(tensor, tensorContent, protowire.BytesType), content)
}

func TestATensorOfOneElementIsANumber(t *testing.T) {
	t.Parallel()
	for _, shape := range [][]uint64{nil, {1}, {1, 1}} {
		if value, isScalar, err := element(tensorOf(0.5, shape...)); value != 0.5 || !isScalar || err != nil {
			t.Errorf("shape %v: got %v, %v, %v", shape, value, isScalar, err)
		}
	}
	for _, shape := range [][]uint64{{2}, {0}, {1, 3}} {
		if _, isScalar, err := element(tensorOf(0.5, shape...)); isScalar || err != nil {
			t.Errorf("shape %v: got %v, %v", shape, isScalar, err)
		}
	}
}
