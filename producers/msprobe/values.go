package msprobe

import (
	"strconv"

	"github.com/tensortap/tensortap/schemas"
)

// role is the part of a value in its op, in the order in which rows are numbered.
type role uint8

const (
	roleInput role = iota
	roleKwarg
	roleParameter
	roleOutput
	roleGradient
	roleCount
)

func (r role) String() string {
	return [roleCount]string{"input", "kwarg", "parameter", "output", "parameter_gradient"}[r]
}

const (
	maxDimensions = 256
	// maxValues and maxOpBytes bound the memory of one op.
	maxValues  = 1 << 16
	maxOpBytes = 8 << 20
	maxLayouts = 1 << 16
)

// value is one tensor or other argument of the op being read; it becomes a row when the op is found whole.
type value struct {
	path       string
	file       string // data_name
	layout     uint64
	elements   uint64
	statistics statistics
	digest     digest
	role       role
}

// values reads one op's entry into a list of values.
type values struct {
	scan    *scanner
	texts   *names
	scratch []byte
	role    role
	path    []byte
	leaf    leaf
	list    []value
	bytes   int // of paths in list

	layouts map[string]uint64 // of layouts met, by their content
	fresh   []schemas.LayoutRow
	key     []byte

	oddShapes []string // the records of the op whose shape is no list of sizes
	recompute bool     // the op ran again for its gradient's sake
	indent    int      // of the op's name
	from      int64    // where its entry begins in the file
	bodies    *bodies
	numbers   *decimals
}

func newValues(s *scanner) *values {
	return &values{scan: s, texts: newNames(maxNameBytes), layouts: make(map[string]uint64), bodies: newBodies(), numbers: newDecimals()}
}

func (r *values) reset() {
	r.list, r.fresh, r.oddShapes = r.list[:0], r.fresh[:0], r.oddShapes[:0]
	r.path, r.bytes = r.path[:0], 0
}

// any reads the value that begins with t: a record, or a nest of lists and objects of them.
func (r *values) any(t token) error {
	switch t {
	case tokenObject:
		return r.object()
	case tokenArray:
		return r.array()
	case tokenEnd, tokenObjectEnd, tokenArrayEnd, tokenKey, tokenString, tokenNumber, tokenTrue, tokenFalse, tokenNull:
	}
	return r.bare(t)
}

func (r *values) array() error {
	base := len(r.path)
	for i := int64(0); ; i++ {
		t, err := r.scan.next()
		if err != nil || t == tokenArrayEnd {
			return err
		}
		r.path = appendIndex(r.path, i)
		if err := r.any(t); err != nil {
			return err
		}
		r.path = r.path[:base]
	}
}

func appendIndex(path []byte, i int64) []byte { return strconv.AppendInt(dotted(path), i, 10) }

func dotted(path []byte) []byte {
	if len(path) > 0 {
		return append(path, '.')
	}
	return path
}

// opened is the beginning of an object: in the text, in the path and in the list of values.
type opened struct {
	place  place
	path   int
	values int
	bytes  int
	odd    int
}

// object reads a record if the object has a type that is text, and otherwise the values of its members. As the type
// may come late, earlier members are taken back then.
func (r *values) object() error {
	begin := opened{place: r.scan.remember(), path: len(r.path), values: len(r.list), bytes: r.bytes, odd: len(r.oddShapes)}
	defer r.scan.forget(begin.place)
	for first := true; ; first = false {
		t, err := r.scan.next()
		if err != nil || t == tokenObjectEnd {
			return err
		}
		l := leafOf(r.scan)
		r.path = append(dotted(r.path), r.scan.unescape(r.scratch)...)
		if t, err = r.scan.next(); err != nil {
			return err
		}
		if r.startsRecord(l, t) && (first || r.takeBack(begin)) {
			return r.record(l, begin.path, first)
		}
		if err := r.any(t); err != nil {
			return err
		}
		r.path = r.path[:begin.path]
	}
}

// marker names the member at the current key that makes an object a record, if any.
type marker uint8

const (
	noMarker marker = iota
	typeMarker
	classMarker
)

func leafOf(s *scanner) marker {
	switch {
	case s.is("type"):
		return typeMarker
	case s.is("class_type"):
		return classMarker
	}
	return noMarker
}

func (r *values) startsRecord(m marker, t token) bool {
	return t == tokenString && (m == typeMarker || m == classMarker && r.scan.is(peerOpType))
}

// takeBack returns to the beginning of the object and forgets the values read since, if the text is still there.
func (r *values) takeBack(begin opened) bool {
	if !r.scan.back(begin.place) {
		return false
	}
	r.list, r.bytes, r.oddShapes = r.list[:begin.values], begin.bytes, r.oddShapes[:begin.odd]
	r.bodies.unfit = true
	return true
}

// record reads the members of a record: those after its type when that came first, otherwise all.
func (r *values) record(m marker, path int, first bool) error { //nolint:revive // flag-parameter: a fact about the text
	r.leaf.reset()
	if first && m == classMarker {
		r.leaf.class = peerOpType
	} else if first {
		r.leaf.typ = r.texts.get(r.scan.unescape(r.scratch))
	}
	r.path = r.path[:path]
	if err := r.fields(&r.leaf); err != nil {
		return err
	}
	return r.keep(&r.leaf)
}

// bare keeps a value without a record around it: null, and values that no msProbe writes.
func (r *values) bare(t token) error {
	l := &r.leaf
	l.reset()
	switch t {
	case tokenNull, tokenEnd, tokenObject, tokenObjectEnd, tokenArray, tokenArrayEnd, tokenKey:
		l.typ = kindNone
	case tokenString:
		l.typ = kindText
		l.literal = append(l.literal, r.scan.unescape(r.scratch)...)
	case tokenTrue, tokenFalse:
		l.typ = kindBool
		l.literal = r.appendToken(l.literal, t)
	case tokenNumber:
		l.typ = kindInt
		if _, err := strconv.ParseInt(view(r.scan.text()), 10, 64); err != nil {
			l.typ = kindFloat
		}
		l.isNumber, l.number = true, float(r.scan.text())
		l.literal = append(l.literal, r.scan.text()...)
	}
	return r.keep(l)
}

// keep adds the record to the op's values.
func (r *values) keep(l *leaf) error {
	if len(r.list) >= maxValues {
		return r.scan.fail("more values in one op than fit")
	}
	r.bytes += len(r.path) + len(l.literal) + len(l.extra)
	if r.bytes > maxOpBytes {
		return r.scan.fail("more text in the values of one op than fits")
	}
	kind := l.kind()
	if l.typ == kindNone {
		kind = kindNone
	}
	v := value{
		role: r.role, path: r.texts.get(r.path), file: l.file, layout: r.layout(l, kind),
		statistics: l.statistics, digest: l.digest,
	}
	if kind == kindTensor {
		v.elements = elements(l.shape)
	} else if l.isNumber {
		r.bodies.unfit = r.bodies.unfit || l.measured != 0 // its own statistics do not count
		v.statistics = statistics{
			measured: schemas.MeasuredMin | schemas.MeasuredMax | schemas.MeasuredMean,
			least:    l.number, most: l.number, mean: l.number,
		}
	}
	r.list = append(r.list, v)
	return nil
}

// layout is the id of the record's layout. A layout met for the first time is added to fresh.
func (r *values) layout(l *leaf, kind string) uint64 {
	r.key = append(append(r.key[:0], kind...), 0)
	r.key = append(append(r.key, l.typ...), 0)
	r.key = append(append(r.key, l.class...), 0)
	r.key = append(append(r.key, l.dtype...), 0, byte(l.grad))
	for _, n := range l.shape {
		r.key = strconv.AppendInt(append(r.key, ','), n, 10)
	}
	r.key = append(append(r.key, 0), l.literal...)
	r.key = append(append(r.key, 0), l.extra...)
	if id, ok := r.layouts[string(r.key)]; ok {
		return id
	}
	row := l.layoutRow(kind)
	row.LayoutID = schemas.LayoutID(&row)
	r.fresh = append(r.fresh, row)
	if len(r.key) > 2*maxNameBytes {
		r.bodies.unfit = true // its layout is written each time
		return row.LayoutID
	}
	if len(r.layouts) >= maxLayouts {
		r.forgetLayouts() // rows of definitions may be written twice
	}
	r.layouts[string(r.key)] = row.LayoutID
	return row.LayoutID
}

// forgetFresh undoes the additions of a dropped op, so that the next op with such a layout
// describes it.
func (r *values) forgetFresh() {
	if len(r.fresh) > 0 {
		r.forgetLayouts()
	}
}

func (r *values) forgetLayouts() {
	clear(r.layouts)
	r.bodies.clear()
}

func (l *leaf) layoutRow(kind string) schemas.LayoutRow {
	row := schemas.LayoutRow{Kind: kind, Literal: string(l.literal)}
	if kind != kindTensor {
		if l.typ != kind && (kind == kindOther || scalarKind(l.typ) == kind) {
			row.Dtype = orText(l.typ, l.class)
		}
		if !l.hasValue && len(l.extra) > 0 {
			row.Literal = "{" + string(l.extra) + "}"
		}
		return row
	}
	row.Dtype = l.dtype
	row.Shape = append([]int64(nil), l.shape...)
	if l.grad >= 0 {
		grad := uint8(l.grad)
		row.RequiresGrad = &grad
	}
	text := ""
	if len(l.extra) > 0 {
		text = "{" + string(l.extra) + "}"
	}
	switch {
	case l.class != "":
		row.Literal = l.class + " " + text
	case l.typ != "torch.Tensor" && l.typ != "mindspore.Tensor":
		row.Literal, row.Placement = l.typ, text
	default:
		row.Placement = text
	}
	return row
}

func orText(text, fallback string) string {
	if text == "" {
		return fallback
	}
	return text
}
