package torchfile

// Dtype is the type of a tensor's elements.
type Dtype uint8

// The types of elements that can be read. The zero value is none of them.
const (
	Bool Dtype = iota + 1
	Uint8
	Uint16
	Uint32
	Uint64
	Int8
	Int16
	Int32
	Int64
	Float16
	BFloat16
	Float32
	Float64
	Complex64
	Complex128
	Float8E4M3FN
	Float8E4M3FNUZ
	Float8E5M2
	Float8E5M2FNUZ
)

// dtypeFacts are the facts about one type.
type dtypeFacts struct {
	name    string // in torch
	size    int64  // bytes
	storage string // class of the storages that torch.save says hold it; empty when it has none of its own
	numpy   string // in the header of a file of numpy, little-endian; empty when numpy has none
}

func (d Dtype) facts() dtypeFacts { return dtypes()[d] }

func dtypes() [Float8E5M2FNUZ + 1]dtypeFacts {
	return [...]dtypeFacts{
		{name: "unknown", size: 1},
		Bool:           {"bool", 1, "BoolStorage", "|b1"},
		Uint8:          {"uint8", 1, "ByteStorage", "|u1"},
		Uint16:         {"uint16", 2, "", "<u2"},
		Uint32:         {"uint32", 4, "", "<u4"},
		Uint64:         {"uint64", 8, "", "<u8"},
		Int8:           {"int8", 1, "CharStorage", "|i1"},
		Int16:          {"int16", 2, "ShortStorage", "<i2"},
		Int32:          {"int32", 4, "IntStorage", "<i4"},
		Int64:          {"int64", 8, "LongStorage", "<i8"},
		Float16:        {"float16", 2, "HalfStorage", "<f2"},
		BFloat16:       {"bfloat16", 2, "BFloat16Storage", ""},
		Float32:        {"float32", 4, "FloatStorage", "<f4"},
		Float64:        {"float64", 8, "DoubleStorage", "<f8"},
		Complex64:      {"complex64", 8, "ComplexFloatStorage", "<c8"},
		Complex128:     {"complex128", 16, "ComplexDoubleStorage", "<c16"},
		Float8E4M3FN:   {"float8_e4m3fn", 1, "", ""},
		Float8E4M3FNUZ: {"float8_e4m3fnuz", 1, "", ""},
		Float8E5M2:     {"float8_e5m2", 1, "", ""},
		Float8E5M2FNUZ: {"float8_e5m2fnuz", 1, "", ""},
	}
}

// String is torch's name of the type, without its prefix.
func (d Dtype) String() string {
	if d > Float8E5M2FNUZ {
		d = 0
	}
	return d.facts().name
}

// Size is the bytes of one element.
func (d Dtype) Size() int64 { return d.facts().size }

// dtypeWith is the type whose facts fulfil the condition, 0 when none does.
func dtypeWith(is func(dtypeFacts) bool) Dtype {
	for i, facts := range dtypes() {
		if i > 0 && is(facts) {
			return Dtype(i) //nolint:gosec // they are few
		}
	}
	return 0
}
