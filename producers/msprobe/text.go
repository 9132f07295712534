package msprobe

import (
	"bytes"
	"encoding/binary"
	"math"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
	"unsafe"
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

// close ends the token's text. One that is too long is noted and left empty.
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

// more fills the window inside a token. The text of one that has grown too long is given up, and noted in overlong.
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

// view is b as a string that shares its memory; it must not outlive the next change of b.
func view(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// names gives equal texts one string, so that the few hundred distinct paths and dtypes of a dump are allocated once.
type names struct {
	known map[string]string
	limit int // of bytes of a text that is worth keeping
}

const (
	maxNames      = 1 << 14
	maxNameBytes  = 128
	maxFrameBytes = 512
)

func newNames(limit int) *names { return &names{known: make(map[string]string), limit: limit} }

func (n *names) get(text []byte) string {
	if s, ok := n.known[string(text)]; ok {
		return s
	}
	s := string(text)
	if len(s) > n.limit {
		return s
	}
	if len(n.known) >= maxNames {
		clear(n.known)
	}
	n.known[s] = s
	return s
}

// unescape is the text of the string token just read, valid UTF-8, in memory that holds until the next call.
func (s *scanner) unescape(scratch []byte) []byte {
	text := s.text()
	if !s.escaped && utf8.Valid(text) {
		return text
	}
	scratch = appendUnescaped(scratch[:0], text)
	if utf8.Valid(scratch) {
		return scratch
	}
	return []byte(strings.ToValidUTF8(string(scratch), "\uFFFD"))
}

func appendUnescaped(out, text []byte) []byte {
	for i := 0; i < len(text); i++ {
		c := text[i]
		if c != '\\' || i+1 == len(text) {
			out = append(out, c)
			continue
		}
		i++
		if text[i] == 'u' {
			r, size := codePoint(text[i+1:])
			out = utf8.AppendRune(out, r)
			i += size
			continue
		}
		out = append(out, escapeByte(text[i]))
	}
	return out
}

func escapeByte(c byte) byte {
	switch c {
	case 'n':
		return '\n'
	case 't':
		return '\t'
	case 'r':
		return '\r'
	case 'b':
		return '\b'
	case 'f':
		return '\f'
	}
	return c // quote, backslash, slash, and what no writer writes
}

// codePoint decodes the four digits after \u, and the second half of a surrogate pair, and says how many bytes that took.
func codePoint(text []byte) (r rune, size int) {
	first, ok := hex4(text)
	if !ok {
		return utf8.RuneError, 0
	}
	if !utf16.IsSurrogate(first) {
		return first, 4
	}
	if len(text) >= 10 && text[4] == '\\' && text[5] == 'u' {
		if second, ok := hex4(text[6:]); ok {
			if pair := utf16.DecodeRune(first, second); pair != utf8.RuneError {
				return pair, 10
			}
		}
	}
	return utf8.RuneError, 4
}

func hex4(text []byte) (rune, bool) {
	if len(text) < 4 {
		return 0, false
	}
	v, err := strconv.ParseUint(view(text[:4]), 16, 16)
	return rune(v), err == nil
}

// noteOverlong records that the op being read holds a text longer than is kept.
func (s *scanner) noteOverlong() {
	if s.overlong < 0 {
		s.overlong = s.offset()
	}
}

// is tells whether the token's text is exactly want.
func (s *scanner) is(want string) bool { return string(s.text()) == want }
