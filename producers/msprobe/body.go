package msprobe

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/zeebo/xxh3"

	"github.com/tensortap/tensortap/schemas"
)

// The entries of an op in all steps and ranks, and of a model's layers, differ in statistics and digests alone.
// So the text around those is read once, and then only compared.

// entryKind is the way to read the entry of an op.
type entryKind uint8

const (
	opEntry       entryKind = iota // sections of arguments and results
	gradientEntry                  // a list for each parameter
	savedEntry                     // one value
)

// body is the text of an entry without its numbers.
type body struct {
	kind          entryKind
	depth, indent int
	text          []byte // between the slots, joined
	slots         []slot
	values        []value
	recompute     bool
	next          [successors]*body // that followed, the last one first
}

// slot is a place for a number.
type slot struct {
	from, to int64 // while it is read: in the file
	end      int   // of the text before it
	value    int
	what     uint32 // a bit of schemas.Measured…, or digestSlot
}

const (
	digestSlot = 1 << 31
	successors = 3

	maxBodyBytes   = 64 << 10 // of one entry
	maxBodiesBytes = 16 << 20
)

// bodies are those that were read so far.
type bodies struct {
	known map[uint64]*body // by the hash of their text
	last  *body
	start *body // stands before the first one, and behind an entry without a body
	bytes int

	slots []slot // of the entry that is being read
	unfit bool   // it will be no body
}

func newBodies() *bodies {
	b := &bodies{known: map[uint64]*body{}}
	b.clear()
	return b
}

func (b *bodies) clear() {
	clear(b.known)
	b.start, b.bytes, b.unfit = &body{}, 0, true
	b.rewind()
}

// rewind begins with another file.
func (b *bodies) rewind() { b.last = b.start }

// slot notes the number or digest at the current token; it belongs to the value that is added next.
func (r *values) slot(what uint32) {
	if r.bodies.unfit {
		return
	}
	s := r.scan
	r.bodies.slots = append(r.bodies.slots, slot{from: s.base + int64(s.start), to: s.base + int64(s.stop), value: len(r.list), what: what})
}

// learn keeps the entry that was just read as a body, if the window still holds it.
func (r *values) learn(kind entryKind) {
	b := r.bodies
	s := r.scan
	from := r.from
	size := s.offset() - from
	if b.unfit || from < s.base || size > maxBodyBytes || len(r.list) > maxBodyBytes/64 || b.bytes > maxBodiesBytes {
		b.unfit = true
		b.last = cmp.Or(b.last.next[0], b.start) // mostly the expected one
		return
	}
	b.unfit = true // until another entry begins
	made := &body{kind: kind, depth: s.depth, indent: r.indent, values: r.list, recompute: r.recompute}
	made.text, made.slots = r.key[:0], b.slots
	for i := range made.slots {
		one := &made.slots[i]
		made.text = append(made.text, s.buf[from-s.base:one.from-s.base]...)
		one.end, from = len(made.text), one.to
	}
	made.text = append(made.text, s.buf[from-s.base:s.pos]...)
	r.key = made.text
	b.follow(b.same(made))
}

// same is the known body, or a copy of this one, which is known from now on.
func (b *bodies) same(made *body) *body {
	id := xxh3.Hash(made.text)
	if known := b.known[id]; known != nil && known.equal(made) {
		return known
	}
	kept := *made
	kept.text, kept.slots, kept.values = bytes.Clone(made.text), slices.Clone(made.slots), slices.Clone(made.values)
	b.known[id] = &kept
	const slotBytes, valueBytes = 40, 128
	b.bytes += len(kept.text) + len(kept.slots)*slotBytes + len(kept.values)*valueBytes
	return &kept
}

func (b *body) equal(c *body) bool {
	return b.kind == c.kind && b.depth == c.depth && b.indent == c.indent && bytes.Equal(b.text, c.text) &&
		slices.EqualFunc(b.slots, c.slots, func(x, y slot) bool { return x.end == y.end && x.value == y.value && x.what == y.what })
}

// follow notes that a body came after the last one.
func (b *bodies) follow(next *body) {
	at := slices.Index(b.last.next[:], next)
	if at < 0 {
		at = successors - 1
	}
	copy(b.last.next[1:], b.last.next[:at])
	b.last.next[0] = next
	b.last = next
}

// repeats reads the entry that follows the current key if its text is an expected body, all of it within the window.
// Otherwise it reads nothing.
func (r *values) repeats(kind entryKind) bool {
	s := r.scan
	b := r.bodies
	b.slots, b.unfit = b.slots[:0], false
	r.indent, r.from = s.keyIndent, s.offset()
	text := s.buf[s.pos:]
	for _, body := range b.last.next {
		if body == nil {
			return false
		}
		if body.kind != kind || body.depth != s.depth || body.indent != s.keyIndent || !body.begins(text) {
			continue
		}
		r.reset()
		r.list = append(r.list, body.values...)
		if size, ok := body.read(text, r.list, r.numbers); ok {
			r.recompute = body.recompute
			b.follow(body)
			s.pass(size)
			return true
		}
	}
	return false
}

// begins says whether the text up to the first slot is the same.
func (b *body) begins(text []byte) bool {
	if len(b.slots) == 0 {
		return bytes.HasPrefix(text, b.text)
	}
	return bytes.HasPrefix(text, b.text[:b.slots[0].end])
}

// read takes the numbers out of the text, and returns the length of this body in it.
func (b *body) read(text []byte, into []value, numbers *decimals) (size int, same bool) {
	from := 0
	for i := range b.slots {
		one := &b.slots[i]
		between := b.text[from:one.end]
		if !bytes.HasPrefix(text[size:], between) {
			return 0, false
		}
		size += len(between)
		from = one.end
		n := one.read(text[size:], &into[one.value], numbers)
		if n == 0 {
			return 0, false
		}
		size += n
	}
	return size + len(b.text) - from, bytes.HasPrefix(text[size:], b.text[from:])
}

// read takes the number that the text begins with, and says how long it is; 0 when it is none.
func (o *slot) read(text []byte, into *value, numbers *decimals) int {
	if o.what == digestSlot {
		n := bytes.IndexByte(text[:min(len(text), 32)], '"')
		if n <= 0 {
			return 0
		}
		sum, ok := parseDigest(text[:n])
		if !ok {
			return 0
		}
		into.digest = sum
		return n
	}
	v, n := numbers.read(text)
	if n == 0 {
		return 0
	}
	switch o.what {
	case schemas.MeasuredMax:
		into.statistics.most = v
	case schemas.MeasuredMin:
		into.statistics.least = v
	case schemas.MeasuredMean:
		into.statistics.mean = v
	case schemas.MeasuredL2:
		into.statistics.norm = v
	}
	return n
}

// pass moves on over a value without control characters in its texts, which the scanner would accept.
func (s *scanner) pass(size int) {
	if at := bytes.LastIndexByte(s.buf[s.pos:s.pos+size], '\n'); at >= 0 {
		s.line = s.base + int64(s.pos+at) + 1
	}
	s.pos += size
	s.state, s.start = wantComma, -1
}
