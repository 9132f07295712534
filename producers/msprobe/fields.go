package msprobe

import (
	"strconv"
	"strings"

	"github.com/tensortap/tensortap/schemas"
)

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
		return r.checksum(l)
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
		if t != tokenNull {
			r.odd()
		}
		return firstError(err, r.scan.skip(t))
	}
	l.hasShape = true
	l.shape = l.shape[:0]
	isOdd := false
	for {
		t, err := r.scan.next()
		if err != nil {
			return err
		}
		if t == tokenArrayEnd {
			break
		}
		size, ok := r.dimension(t)
		isOdd = isOdd || !ok
		if err := r.scan.skip(t); err != nil {
			return err
		}
		l.shape = append(l.shape, size)
		if len(l.shape) > maxDimensions {
			return r.scan.fail("a shape of too many dimensions")
		}
	}
	if isOdd {
		r.odd()
	}
	return nil
}

// notKnown is the size of a dimension that is not known.
const notKnown = -1

// dimension is the size that begins with t, and whether it is one.
func (r *values) dimension(t token) (size int64, ok bool) {
	if t != tokenNumber {
		return notKnown, false
	}
	n, err := strconv.ParseInt(view(r.scan.text()), 10, 64)
	if err != nil || n < notKnown {
		return notKnown, false
	}
	return n, true
}

// odd notes that the shape of the present record is none.
func (r *values) odd() {
	r.bodies.unfit = true // each is told
	r.oddShapes = append(r.oddShapes, r.role.String()+"."+string(r.path))
}

func (r *values) statistic(l *leaf, to *float64, bit uint32) error {
	t, err := r.scan.next()
	if err != nil {
		return err
	}
	if l.measured&bit != 0 {
		r.bodies.unfit = true // twice in one record
	}
	switch t {
	case tokenNumber:
		*to = float(r.scan.text())
		r.slot(bit)
	case tokenTrue:
		*to = 1
	case tokenFalse:
		*to = 0
	case tokenString:
		l.worded(r.scan.text(), to, bit)
		return nil
	case tokenNull, tokenEnd, tokenObject, tokenObjectEnd, tokenArray, tokenArrayEnd, tokenKey:
		return r.scan.skip(t)
	}
	l.measured |= bit
	return nil
}

// worded takes a statistic given as text, if the text is a number.
func (l *leaf) worded(text []byte, to *float64, bit uint32) {
	if v, err := strconv.ParseFloat(view(text), 64); err == nil {
		*to = v
		l.measured |= bit
	}
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

// checksum reads msProbe's md5: 8 hex digits of a CRC-32, or 0x and 16 digits of an exclusive or.
func (r *values) checksum(l *leaf) error {
	t, err := r.scan.next()
	if err != nil || t != tokenString {
		return firstError(err, r.scan.skip(t))
	}
	if l.digest.kind != 0 {
		r.bodies.unfit = true // twice in one record
	}
	if sum, ok := parseDigest(r.scan.text()); ok {
		l.digest = sum
		r.slot(digestSlot)
	}
	return nil // other text is no digest
}

func parseDigest(text []byte) (digest, bool) {
	digits, xor := strings.CutPrefix(view(text), "0x")
	v, err := strconv.ParseUint(digits, 16, 64)
	switch {
	case err != nil || !xor && len(digits) > 8:
		return digest{}, false
	case xor:
		return digest{value: v, kind: schemas.DigestXOR}, true
	}
	return digest{value: v, kind: schemas.DigestCRC32}, true
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

// peerTensor reads the tensor inside a point-to-point operation; its statistics become the record's own.
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

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
