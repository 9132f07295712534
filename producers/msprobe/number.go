package msprobe

import (
	"bytes"
	"math"
	"strconv"
)

// number reads a number, or -Infinity.
func (s *scanner) number(c byte) (token, error) {
	s.start = s.pos
	s.state = wantComma
	if c == '-' {
		s.pos++
		if next, ok := s.peek(); ok && next == 'I' {
			return tokenNumber, s.word("Infinity")
		}
	}
	digits := s.digits()
	if next, ok := s.peek(); ok && next == '.' {
		s.pos++
		digits += s.digits()
	}
	if next, ok := s.peek(); ok && digits > 0 && (next == 'e' || next == 'E') {
		s.pos++
		if sign, ok := s.peek(); ok && (sign == '+' || sign == '-') {
			s.pos++
		}
		digits = s.digits()
	}
	if digits == 0 {
		return tokenEnd, s.fail("a number without digits")
	}
	s.close(s.pos)
	return tokenNumber, nil
}

func (s *scanner) peek() (byte, bool) {
	if s.pos == len(s.buf) && !s.more() {
		return 0, false
	}
	return s.buf[s.pos], true
}

func (s *scanner) digits() int {
	count := 0
	for {
		i := s.pos
		for i < len(s.buf) && s.buf[i]-'0' < 10 {
			i++
		}
		count += i - s.pos
		s.pos = i
		if i < len(s.buf) || !s.more() {
			return count
		}
	}
}

// word reads a word that begins at the next byte.
func (s *scanner) word(want string) error {
	if s.start < 0 {
		s.start = s.pos
	}
	for i := range len(want) {
		c, ok := s.peek()
		if !ok {
			return s.cut()
		}
		if c != want[i] {
			return s.fail("no value where one must stand")
		}
		s.pos++
	}
	s.stop = s.pos
	s.state = wantComma
	return nil
}

// float is the value of a number token: NaN and the infinities as such, a number beyond float64 as an infinity.
func float(text []byte) float64 {
	switch string(text) {
	case "NaN":
		return math.NaN()
	case "Infinity":
		return math.Inf(1)
	case "-Infinity":
		return math.Inf(-1)
	}
	if v, ok := smallInteger(text); ok {
		return v
	}
	v, _ := strconv.ParseFloat(view(text), 64) // out of range is ±Inf, and the scanner has checked the rest
	return v
}

func smallInteger(text []byte) (float64, bool) {
	text, negative := bytes.CutPrefix(text, []byte("-"))
	if len(text) == 0 || len(text) > 15 || (negative && text[0] == '0') {
		return 0, false
	}
	v := int64(0)
	for _, c := range text {
		if c < '0' || c > '9' {
			return 0, false
		}
		v = v*10 + int64(c-'0')
	}
	if negative {
		v = -v
	}
	return float64(v), true
}
