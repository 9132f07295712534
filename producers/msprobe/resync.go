package msprobe

import "github.com/tensortap/tensortap/schemas"

// resync moves the scanner from damage to the next op: a key at the same indentation as the op keys read so far or,
// where the file is not indented, a text that reads like an op name and is followed by an object. It says whether one
// was found; the scanner then stands before that key, inside the object that holds the ops.
func (s *scanner) resync(indent int, from int64) bool {
	if s.err != nil {
		return false
	}
	s.mark, s.start = -1, -1
	s.overlong = -1
	s.rewindLine(from)
	if indent > 0 && !s.seekIndent(indent) || indent <= 0 && !s.seekName() {
		return false
	}
	s.depth = s.opDepth
	for d := range s.opDepth {
		s.objects[d>>6] |= 1 << (d & 63)
	}
	if s.state != wantComma {
		s.state = wantKey
	}
	return true
}

// rewindLine goes back to the newline before the current line if the window still holds it, but not before from.
func (s *scanner) rewindLine(from int64) {
	at := max(s.line-1, from, s.base)
	if at < s.offset() {
		s.pos = int(at - s.base)
	}
}

// seekIndent finds the next line that has exactly that many blanks before a quote, or fewer before a closing brace,
// which ends the ops.
func (s *scanner) seekIndent(indent int) bool {
	for s.seekByte('\n') {
		s.pos++
		s.line = s.offset()
		blanks := 0
		c, ok := s.peekFree()
		for ; ok && c == ' '; c, ok = s.peekFree() {
			blanks++
			s.pos++
		}
		switch {
		case !ok:
			return false
		case c == '"' && blanks == indent:
			s.state = wantKey
			return true
		case c == '}' && blanks < indent:
			s.state = wantComma
			return true
		}
	}
	return false
}

func (s *scanner) seekByte(want byte) bool {
	s.start = -1
	for {
		c, ok := s.peekFree()
		if !ok {
			return false
		}
		if c == want {
			return true
		}
		s.pos++
	}
}

// peekFree is peek while no token is held.
func (s *scanner) peekFree() (byte, bool) {
	if s.pos == len(s.buf) && !s.fill() {
		return 0, false
	}
	return s.buf[s.pos], true
}

// seekName finds the next quoted op name that stands after a comma or an opening brace and is followed by an object.
func (s *scanner) seekName() bool {
	before := byte(',')
	for {
		s.start = -1
		c, ok := s.peekFree()
		if !ok {
			return false
		}
		if c != '"' {
			if c != ' ' && c != '\n' && c != '\r' && c != '\t' {
				before = c
			}
			s.pos++
			continue
		}
		if (before == ',' || before == '{') && s.namesOp() {
			s.state = wantKey
			return true
		}
		before = '"'
		s.pos++
	}
}

// namesOp looks ahead from a quote. It leaves the scanner at that quote.
func (s *scanner) namesOp() bool {
	at := s.offset()
	s.mark = s.pos
	ok := s.quoted() == nil && s.overlong < 0 && schemas.NamesAnOp(view(s.text()))
	ok = ok && s.follows(':') && s.follows('{')
	s.overlong = -1
	held := s.mark >= 0
	if held {
		s.pos = int(at - s.base)
	}
	s.mark, s.start = -1, -1
	return ok && held
}

func (s *scanner) follows(want byte) bool {
	c, ok := s.blank()
	if ok && c == want {
		s.pos++
		return true
	}
	return false
}
