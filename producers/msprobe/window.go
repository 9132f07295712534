package msprobe

import (
	"errors"
	"io"
)

// offset is the position of the next unread byte in the input.
func (s *scanner) offset() int64 { return s.base + int64(s.pos) }

// fill makes at least one more byte available behind the window's end, and moves the kept part to the
// front.
func (s *scanner) fill() bool {
	if s.ended {
		return false
	}
	s.slide()
	if len(s.buf) == cap(s.buf) {
		grown := make([]byte, len(s.buf), 2*cap(s.buf))
		copy(grown, s.buf)
		s.buf = grown
	}
	for {
		n, err := s.input.Read(s.buf[len(s.buf):cap(s.buf)])
		s.buf = s.buf[:len(s.buf)+n]
		if err != nil {
			s.ended = true
			if !errors.Is(err, io.EOF) {
				s.err = err
			}
			return n > 0
		}
		if n > 0 {
			return true
		}
	}
}

func (s *scanner) slide() {
	if s.mark >= 0 && s.pos-s.mark > maxMarkBytes {
		s.mark = -1
	}
	keep := s.pos
	if line := int(s.line - s.base); line >= 0 && s.pos-line < keptLineBytes {
		keep = min(keep, max(line-1, 0))
	}
	if s.start >= 0 {
		keep = min(keep, s.start)
	}
	if s.mark >= 0 {
		keep = min(keep, s.mark)
	}
	s.buf = s.buf[:copy(s.buf[:cap(s.buf)], s.buf[keep:])]
	s.base += int64(keep)
	s.pos -= keep
	if s.start >= 0 {
		s.start -= keep
		s.stop -= keep
	}
	if s.mark >= 0 {
		s.mark -= keep
	}
}

// blank skips white space and returns the next byte without consuming it.
func (s *scanner) blank() (byte, bool) {
	for {
		buf := s.buf
		for i := s.pos; i < len(buf); i++ {
			switch c := buf[i]; c {
			case ' ', '\t', '\r':
			case '\n':
				s.line = s.base + int64(i) + 1
			default:
				s.pos = i
				return c, true
			}
		}
		s.pos = len(buf)
		if !s.fill() {
			return 0, false
		}
	}
}

// indent counts the blanks before the next byte if nothing else stands before it on its line, and is -1 otherwise.
func (s *scanner) indent() int {
	from := int(s.line - s.base)
	if s.line == 0 || from < 0 || from > s.pos {
		return -1
	}
	for _, c := range s.buf[from:s.pos] {
		if c != ' ' {
			return -1
		}
	}
	return s.pos - from
}

// place is a point in the text to which the scanner can return while the window still holds it.
type place struct {
	offset int64
	depth  int
	outer  bool
}

// remember marks the point just after an object was opened.
func (s *scanner) remember() place {
	p := place{offset: s.offset(), depth: s.depth, outer: s.mark < 0}
	if p.outer {
		s.mark = s.pos
	}
	return p
}

// forget releases the window again.
func (s *scanner) forget(p place) {
	if p.outer {
		s.mark = -1
	}
}

// back returns to the point, just after an object was opened, or says that the window has moved on.
func (s *scanner) back(p place) bool {
	if s.mark < 0 || p.offset < s.base+int64(s.mark) {
		return false
	}
	s.pos = int(p.offset - s.base)
	s.depth = p.depth
	s.objects[(s.depth-1)>>6] |= 1 << ((s.depth - 1) & 63)
	s.state = wantKeyOrEnd
	s.start = -1
	return true
}
