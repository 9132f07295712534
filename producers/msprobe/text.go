package msprobe

import (
	"encoding/binary"
)

// quoted reads a string whose opening quote is the next byte. Its text stays in the window unless it is too long.
func (s *scanner) quoted() error {
	s.pos++
	s.start, s.escaped = s.pos, false
	for {
		i := s.pos + plain(s.buf[s.pos:])
		if i == len(s.buf) {
			s.pos = i
			if !s.more() {
				return s.cut()
			}
			continue
		}
		s.pos = i
		switch s.buf[i] {
		case '"':
			s.pos++
			s.close(i)
			return nil
		case '\\':
			if err := s.escape(); err != nil {
				return err
			}
		default:
			return s.fail("a control character in a string")
		}
	}
}

// close ends the token's text. A text that is too long is noted and left empty.
func (s *scanner) close(stop int) {
	if stop-s.start > maxTextBytes {
		s.noteOverlong()
		s.start = stop
	}
	s.stop = stop
}

// escape passes over a backslash and the byte after it.
func (s *scanner) escape() error {
	s.escaped = true
	s.pos++
	if s.pos == len(s.buf) && !s.more() {
		return s.cut()
	}
	if s.buf[s.pos] < ' ' {
		return s.fail("a control character in a string")
	}
	s.pos++
	return nil
}

func (s *scanner) cut() error {
	if s.err != nil {
		return s.err
	}
	return errCut
}

// more fills the window inside a token. A text that has grown too long is given up, and noted in overlong.
func (s *scanner) more() bool {
	if s.pos-s.start > maxTextBytes {
		s.noteOverlong()
		s.start = s.pos
		s.mark = -1
	}
	return s.fill()
}

// plain counts the leading bytes that are neither a quote, a backslash nor a control character, eight at a time.
func plain(b []byte) int {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	i := 0
	for ; i+8 <= len(b); i += 8 {
		w := binary.LittleEndian.Uint64(b[i:])
		quote := w ^ ones*'"'
		slash := w ^ ones*'\\'
		if ((quote-ones)&^quote|(slash-ones)&^slash|(w-ones*' ')&^w)&highs != 0 {
			break
		}
	}
	for i < len(b) && b[i] != '"' && b[i] != '\\' && b[i] >= ' ' {
		i++
	}
	return i
}

const (
	maxNames      = 1 << 14
	maxNameBytes  = 128
	maxFrameBytes = 512
)

// noteOverlong records that the op being read holds a text longer than is kept.
func (s *scanner) noteOverlong() {
	if s.overlong < 0 {
		s.overlong = s.offset()
	}
}

// is says whether the token's text is exactly want.
func (s *scanner) is(want string) bool { return string(s.text()) == want }
