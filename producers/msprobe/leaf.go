package msprobe

import (
	"math"
	"strconv"
	"strings"

	"github.com/tensortap/tensortap/schemas"
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

	measured                uint32
	least, most, mean, norm float64
	digest                  uint64
	digestKind              uint8
	file                    string // data_name

	hasValue bool
	isNumber bool
	number   float64
	literal  []byte // the value, as text
	extra    []byte // members of no other meaning, as compact JSON without the braces
}

func (l *leaf) reset() {
	*l = leaf{shape: l.shape[:0], literal: l.literal[:0], extra: l.extra[:0], grad: -1}
}

// fields reads the members of a record up to its closing brace.
func (r *values) fields(l *leaf) error {
	for {
		t, err := r.scan.next()
		if err != nil || t == tokenObjectEnd {
			return err
		}
		if err := r.field(l); err != nil {
			return err
		}
	}
}

// field reads one member whose key is the current token.
func (r *values) field(l *leaf) error {
	switch view(r.scan.text()) {
	case "type":
		return r.textField(&l.typ)
	case "class_type":
		return r.textField(&l.class)
	case "dtype":
		return r.textField(&l.dtype)
	case "data_name":
		return r.textField(&l.file)
	case "shape":
		return r.shape(l)
	case "Max":
		return r.statistic(l, &l.most, schemas.MeasuredMax)
	case "Min":
		return r.statistic(l, &l.least, schemas.MeasuredMin)
	case "Mean":
		return r.statistic(l, &l.mean, schemas.MeasuredMean)
	case "Norm":
		return r.statistic(l, &l.norm, schemas.MeasuredL2)
	case "requires_grad":
		return r.requiresGrad(l)
	case "md5":
		return r.digest(l)
	case "value", "format":
		return r.literal(l)
	case "tensor":
		return r.peerTensor(l)
	}
	return r.extra(l)
}

func (r *values) textField(to *string) error {
	t, err := r.scan.next()
	if err != nil {
		return err
	}
	if t == tokenString {
		*to = r.texts.get(r.scan.unescape(r.scratch))
		return nil
	}
	return r.scan.skip(t)
}

func (r *values) shape(l *leaf) error {
	t, err := r.scan.next()
	if err != nil || t != tokenArray {
		return firstError(err, r.scan.skip(t))
	}
	l.hasShape = true
	l.shape = l.shape[:0]
	for {
		t, err := r.scan.next()
		if err != nil || t == tokenArrayEnd {
			return err
		}
		size := int64(-1) // what is no number is a dimension that was not known
		if t == tokenNumber {
			size = dimension(r.scan.text())
		}
		if err := r.scan.skip(t); err != nil {
			return err
		}
		l.shape = append(l.shape, size)
		if len(l.shape) > maxDimensions {
			return r.scan.fail("a shape of too many dimensions")
		}
	}
}

func dimension(text []byte) int64 {
	n, err := strconv.ParseInt(view(text), 10, 64)
	if err == nil || n != 0 {
		return n // out of range is the nearest that fits
	}
	if f := float(text); f > 0 && f < math.MaxInt64 {
		return int64(f)
	}
	return 0
}

func (r *values) statistic(l *leaf, to *float64, bit uint32) error {
	t, err := r.scan.next()
	if err != nil {
		return err
	}
	switch t {
	case tokenNumber:
		*to = float(r.scan.text())
	case tokenTrue:
		*to = 1
	case tokenFalse:
		*to = 0
	case tokenString:
		v, err := strconv.ParseFloat(view(r.scan.text()), 64)
		if err != nil {
			return nil //nolint:nilerr // a statistic given as a word is one that was not measured
		}
		*to = v
	case tokenNull, tokenEnd, tokenObject, tokenObjectEnd, tokenArray, tokenArrayEnd, tokenKey:
		return r.scan.skip(t)
	}
	l.measured |= bit
	return nil
}

func (r *values) requiresGrad(l *leaf) error {
	t, err := r.scan.next()
	if err != nil {
		return err
	}
	switch t {
	case tokenTrue:
		l.grad = 1
	case tokenFalse:
		l.grad = 0
	case tokenEnd, tokenObject, tokenObjectEnd, tokenArray, tokenArrayEnd, tokenKey, tokenString, tokenNumber, tokenNull:
		return r.scan.skip(t)
	}
	return nil
}

// digest reads what msProbe calls md5: 8 hex digits of a CRC-32, or 0x and 16 digits of an exclusive or.
func (r *values) digest(l *leaf) error {
	t, err := r.scan.next()
	if err != nil || t != tokenString {
		return firstError(err, r.scan.skip(t))
	}
	digits, xor := strings.CutPrefix(view(r.scan.text()), "0x")
	v, err := strconv.ParseUint(digits, 16, 64)
	switch {
	case err != nil:
	case xor:
		l.digest, l.digestKind = v, schemas.DigestXOR
	case len(digits) <= 8:
		l.digest, l.digestKind = v, schemas.DigestCRC32
	}
	return nil
}

func (r *values) literal(l *leaf) error {
	t, err := r.scan.next()
	if err != nil {
		return err
	}
	l.hasValue = true
	l.literal = l.literal[:0]
	switch t {
	case tokenString:
		l.literal = append(l.literal, r.scan.unescape(r.scratch)...)
		return nil
	case tokenNumber:
		l.isNumber, l.number = true, float(r.scan.text())
	case tokenEnd, tokenObject, tokenObjectEnd, tokenArray, tokenArrayEnd, tokenKey, tokenTrue, tokenFalse, tokenNull:
	}
	l.literal, err = r.compact(l.literal, t)
	return err
}

// peerTensor reads the tensor inside a point-to-point operation, whose statistics become the record's own.
func (r *values) peerTensor(l *leaf) error {
	t, err := r.scan.next()
	if err != nil || t != tokenObject {
		return firstError(err, r.scan.skip(t))
	}
	class := l.class
	err = r.fields(l)
	l.class = class
	return err
}

func (r *values) extra(l *leaf) error {
	l.extra = appendQuoted(separated(l.extra), r.scan.text())
	l.extra = append(l.extra, ':')
	t, err := r.scan.next()
	if err != nil {
		return err
	}
	l.extra, err = r.compact(l.extra, t)
	return err
}

func separated(out []byte) []byte {
	if len(out) > 0 {
		return append(out, ',')
	}
	return out
}

func appendQuoted(out, escaped []byte) []byte {
	out = append(out, '"')
	out = append(out, escaped...)
	return append(out, '"')
}

// compact appends the value that begins with t as JSON without blanks, NaN and infinities as they stand.
func (r *values) compact(out []byte, t token) ([]byte, error) {
	outer := r.scan.depth
	if t == tokenObject || t == tokenArray {
		outer--
	}
	fresh := true // no comma before the next element
	for {
		if !fresh && t != tokenObjectEnd && t != tokenArrayEnd {
			out = append(out, ',')
		}
		out = r.appendToken(out, t)
		fresh = t == tokenObject || t == tokenArray || t == tokenKey
		if len(out) > maxTextBytes {
			r.scan.noteOverlong()
			out = out[:0]
		}
		if r.scan.depth == outer && t != tokenKey {
			return out, nil
		}
		var err error
		if t, err = r.scan.next(); err != nil {
			return out, err
		}
	}
}

func (r *values) appendToken(out []byte, t token) []byte {
	switch t {
	case tokenObject:
		return append(out, '{')
	case tokenObjectEnd:
		return append(out, '}')
	case tokenArray:
		return append(out, '[')
	case tokenArrayEnd:
		return append(out, ']')
	case tokenKey:
		return append(appendQuoted(out, r.scan.text()), ':')
	case tokenString:
		return appendQuoted(out, r.scan.text())
	case tokenNumber:
		return append(out, r.scan.text()...)
	case tokenTrue:
		return append(out, "true"...)
	case tokenFalse:
		return append(out, "false"...)
	case tokenNull:
		return append(out, "null"...)
	case tokenEnd:
	}
	return out
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// kind is the layout's kind by what the record says of its type.
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

// scalarKind is the kind of Python's and NumPy's scalars, whose type is their class's bare name.
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
