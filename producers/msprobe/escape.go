package msprobe

import (
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
	"unsafe"
)

// view is b as a string that shares its memory; it must not outlive the next change of b.
func view(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// names gives equal texts one string, so that the few hundred distinct paths and dtypes of a dump are allocated once.
type names struct {
	known map[string]string
	limit int // of bytes of a text that is worth keeping
}

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
	return c // quote, backslash, slash, and escapes that no writer uses
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
