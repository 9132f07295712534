package msprobe

import (
	"errors"
	"fmt"
	"io"
)

// token is one grammatical event of a JSON text. Commas and colons are checked by the scanner and not reported.
type token uint8

const (
	tokenEnd token = iota // the text is complete and nothing but blanks follows
	tokenObject
	tokenObjectEnd
	tokenArray
	tokenArrayEnd
	tokenKey
	tokenString
	tokenNumber // includes NaN, Infinity and -Infinity
	tokenTrue
	tokenFalse
	tokenNull
)

// state is the set of tokens that the grammar allows next.
type state uint8

const (
	wantValue state = iota
	wantValueOrEnd
	wantKey
	wantKeyOrEnd
	wantComma
)

const (
	windowBytes = 256 << 10
	// maxTextBytes is the longest string, number or literal that is kept. A longer one costs its op, not the file.
	maxTextBytes = 1 << 20
	// maxMarkBytes is the greatest length of text that may be read again for an object of unknown
	// kind.
	maxMarkBytes = 1 << 20
	// maxDepth exceeds msProbe's own limit of 400 nested containers.
	maxDepth = 1000
	// keptLineBytes is the part of the current line that stays in the window, so that a damaged line can be read
	// again.
	keptLineBytes = 4 << 10
)

// errCut is reported when the text ends inside a value.
var errCut = errors.New("the file ends inside a value")

// syntaxError is a violation of the grammar at a byte offset.
type syntaxError struct {
	offset int64
	what   string
}

func (e *syntaxError) Error() string { return fmt.Sprintf("%s at byte %d", e.what, e.offset) }

// scanner reads the JSON that Python writes (NaN, Infinity and -Infinity are values) from a window that slides over
// the input, so that memory does not depend on the size of the file. Token text is a slice of the window and holds
// until the next call.
type scanner struct {
	input io.Reader
	buf   []byte // the window: buf[:cap] is storage, buf[:len] is filled
	pos   int
	base  int64 // offset of buf[0] in the input
	ended bool
	err   error // what the input returned, other than its end

	state   state
	objects []uint64 // one bit per open container: 1 object, 0 array
	depth   int

	start, stop int // token text in buf; start is -1 while no token is held
	escaped     bool
	mark        int // window index that must stay readable; -1 none

	line      int64 // offset of the first byte after the last newline between tokens
	keyIndent int   // blanks before the last key, -1 when it does not stand first on its line
	keyOffset int64
	keyOpen   bool  // the last key was found damaged
	minIndent int   // a key of an inner object that stands no deeper than this is damage; -1 off
	opDepth   int   // depth of the object whose keys are op names
	overlong  int64 // offset of the first text that exceeded maxTextBytes; -1 none
}

func newScanner(input io.Reader) *scanner {
	s := &scanner{buf: make([]byte, 0, windowBytes), objects: make([]uint64, maxDepth/64+1)}
	s.reset(input)
	return s
}

// reset begins with another input, in the same memory.
func (s *scanner) reset(input io.Reader) {
	*s = scanner{
		input: input, buf: s.buf[:0], objects: s.objects,
		start: -1, mark: -1, minIndent: -1, overlong: -1,
	}
	clear(s.objects)
}

func (s *scanner) fail(what string) error {
	return &syntaxError{offset: s.offset(), what: what}
}

// next returns the next token. After an error the scanner stands where the error was found.
func (s *scanner) next() (token, error) {
	s.start = -1
	for {
		c, ok := s.blank()
		if !ok {
			return s.end()
		}
		if s.state != wantComma {
			return s.element(c)
		}
		if c != ',' || s.depth == 0 {
			return s.closing(c)
		}
		s.pos++
		s.state = wantValue
		if s.inObject() {
			s.state = wantKey
		}
	}
}

func (s *scanner) end() (token, error) {
	if s.err != nil {
		return tokenEnd, s.err
	}
	if s.depth == 0 && s.state == wantComma {
		return tokenEnd, nil
	}
	return tokenEnd, errCut
}

func (s *scanner) element(c byte) (token, error) {
	switch s.state {
	case wantKey:
		return s.key(c)
	case wantKeyOrEnd:
		if c == '}' {
			return s.closing(c)
		}
		return s.key(c)
	case wantValueOrEnd:
		if c == ']' {
			return s.closing(c)
		}
		return s.value(c)
	case wantValue, wantComma:
		return s.value(c)
	}
	return s.value(c)
}

func (s *scanner) inObject() bool {
	d := s.depth - 1
	return s.objects[d>>6]>>(d&63)&1 == 1
}

func (s *scanner) closing(c byte) (token, error) {
	switch {
	case s.depth == 0:
		return tokenEnd, s.fail("text after the end of the document")
	case c == '}' && s.inObject():
		s.pos++
		s.depth--
		s.state = wantComma
		return tokenObjectEnd, nil
	case c == ']' && !s.inObject():
		s.pos++
		s.depth--
		s.state = wantComma
		return tokenArrayEnd, nil
	case s.inObject():
		return tokenEnd, s.fail("neither a comma nor the end of an object")
	}
	return tokenEnd, s.fail("neither a comma nor the end of an array")
}

func (s *scanner) open(object bool) error { //nolint:revive // flag-parameter: the bit is the value stored

	if s.depth >= maxDepth {
		return s.fail("containers nested too deeply")
	}
	bit := uint64(1) << (s.depth & 63)
	if object {
		s.objects[s.depth>>6] |= bit
		s.state = wantKeyOrEnd
	} else {
		s.objects[s.depth>>6] &^= bit
		s.state = wantValueOrEnd
	}
	s.depth++
	s.pos++
	return nil
}

func (s *scanner) key(c byte) (token, error) {
	if c != '"' {
		return tokenEnd, s.fail("no key where one must stand")
	}
	s.keyOffset = s.offset()
	s.keyOpen = true
	s.keyIndent = s.indent()
	if s.depth > s.opDepth && s.keyIndent >= 0 && s.keyIndent <= s.minIndent {
		return tokenEnd, s.fail("a key out of place: something before it was not closed")
	}
	if err := s.quoted(); err != nil {
		return tokenEnd, err
	}
	c, ok := s.blank()
	if !ok {
		return s.end()
	}
	if c != ':' {
		return tokenEnd, s.fail("no colon after a key")
	}
	s.pos++
	s.state = wantValue
	s.keyOpen = false
	return tokenKey, nil
}

func (s *scanner) value(c byte) (token, error) {
	switch c {
	case '{':
		return tokenObject, s.open(true)
	case '[':
		return tokenArray, s.open(false)
	case '"':
		s.state = wantComma
		return tokenString, s.quoted()
	case 't':
		return tokenTrue, s.word("true")
	case 'f':
		return tokenFalse, s.word("false")
	case 'n':
		return tokenNull, s.word("null")
	case 'N':
		return tokenNumber, s.word("NaN")
	case 'I':
		return tokenNumber, s.word("Infinity")
	case '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		return s.number(c)
	}
	return tokenEnd, s.fail("no value where one must stand")
}

// text is the token's content: a string without its quotes, still escaped, or a number.
func (s *scanner) text() []byte { return s.buf[s.start:s.stop] }

// skip passes over the rest of the value whose first token was t.
func (s *scanner) skip(t token) error {
	if t != tokenObject && t != tokenArray {
		return nil
	}
	for outer := s.depth - 1; s.depth > outer; {
		if _, err := s.next(); err != nil {
			return err
		}
	}
	return nil
}
