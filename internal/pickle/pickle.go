// Package pickle reads the operations of a pickle one after the other, and runs none of them.
//
// A pickle is a program, and a file may be hostile: who reads one here decides what an operation becomes. Memory is
// bounded by the longest text.
package pickle

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
)

// Operations that have a meaning to readers; arguments are in the Op.
const (
	Proto       = 0x80
	Frame       = 0x95
	Stop        = '.'
	Mark        = '('
	Pop         = '0'
	PopMark     = '1'
	Dup         = '2'
	None        = 'N'
	True        = 0x88
	False       = 0x89
	Int1        = 'K'
	Int2        = 'M'
	Int4        = 'J'
	Long1       = 0x8a
	Long4       = 0x8b
	Float       = 'G'
	Text1       = 0x8c
	Text4       = 'X'
	Text8       = 0x8d
	Bytes1      = 'C'
	Bytes4      = 'B'
	Bytes8      = 0x8e
	OldText1    = 'U'
	OldText4    = 'T'
	EmptyTuple  = ')'
	Tuple       = 't'
	Tuple1      = 0x85
	Tuple2      = 0x86
	Tuple3      = 0x87
	EmptyDict   = '}'
	EmptyList   = ']'
	EmptySet    = 0x8f
	Append      = 'a'
	Appends     = 'e'
	SetItem     = 's'
	SetItems    = 'u'
	AddItems    = 0x90
	FrozenSet   = 0x91
	Put1        = 'q'
	Put4        = 'r'
	Memoize     = 0x94
	Get1        = 'h'
	Get4        = 'j'
	Global      = 'c'
	Inst        = 'i'
	StackGlobal = 0x93
	Reduce      = 'R'
	Build       = 'b'
	Obj         = 'o'
	NewObj      = 0x81
	NewObjEx    = 0x92
	Persistent  = 'Q'
)

const (
	mostText  = 1 << 20 // bytes
	mostName  = 512
	readAhead = 256 << 10
)

// ErrEnded is the cause when a file ends within its pickle.
var ErrEnded = errors.New("it ends in the middle")

// Op is an operation with its argument.
type Op struct {
	Code   byte
	Number int64   // of a whole number, or of what is remembered; the nearest of those that do not fit
	Float  float64 // of Float
	Text   []byte  // of texts, and "module.name" of Global and Inst; good until the next call
	At     int64   // the byte it begins at
}

// Scanner reads one pickle. It is not safe for use by several goroutines.
type Scanner struct {
	in   *bufio.Reader
	read int64
	text []byte
}

// NewScanner reads from the beginning of a pickle.
func NewScanner(from io.Reader) *Scanner {
	return &Scanner{in: bufio.NewReaderSize(from, readAhead)}
}

// Read is the number of bytes so far.
func (s *Scanner) Read() int64 { return s.read }

// Next reads an operation, also one that the reader does not know by its argument.
func (s *Scanner) Next(op *Op) error {
	op.At = s.read
	code, err := s.in.ReadByte()
	if err != nil {
		return s.ended(err)
	}
	s.read++
	op.Code, op.Text = code, nil
	if err := s.argument(op); err != nil {
		return fmt.Errorf("operation %#02x at byte %d: %w", code, op.At, err)
	}
	return nil
}

func (s *Scanner) argument(op *Op) error {
	switch op.Code {
	case Stop, Mark, Pop, PopMark, Dup, None, True, False, EmptyTuple, Tuple, Tuple1, Tuple2, Tuple3, EmptyDict, EmptyList,
		EmptySet, Append, Appends, SetItem, SetItems, AddItems, FrozenSet, Memoize, StackGlobal, Reduce, Build, Obj, NewObj,
		NewObjEx, Persistent:
		return nil
	case Proto, Int1, Put1, Get1:
		return s.number(op, 1)
	case Int2:
		return s.number(op, 2)
	case Int4:
		err := s.number(op, 4)
		op.Number = int64(int32(op.Number)) //nolint:gosec // these are its 32 bits
		return err
	case Put4, Get4:
		return s.number(op, 4)
	case Frame:
		return s.number(op, 8)
	case Float:
		return s.float(op)
	case Long1:
		return s.long(op, 1)
	case Long4:
		return s.long(op, 4)
	case Text1, Bytes1, OldText1:
		return s.sized(op, 1)
	case Text4, Bytes4, OldText4:
		return s.sized(op, 4)
	case Text8, Bytes8:
		return s.sized(op, 8)
	case Global, Inst:
		return s.name(op)
	}
	return errors.New("no pickle of protocol 2 to 5 has it")
}

func (s *Scanner) ended(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("byte %d: %w", s.read, ErrEnded)
	}
	return err
}

// take is the next n bytes, good until the next call.
func (s *Scanner) take(n int) ([]byte, error) {
	if n > readAhead {
		return s.takeLong(n)
	}
	text, err := s.in.Peek(n)
	s.read += int64(len(text))
	if err != nil {
		return nil, s.ended(err)
	}
	_, err = s.in.Discard(n)
	return text, err
}

func (s *Scanner) takeLong(n int) ([]byte, error) {
	if cap(s.text) < n {
		s.text = make([]byte, n)
	}
	got, err := io.ReadFull(s.in, s.text[:n])
	s.read += int64(got)
	if err != nil {
		return nil, s.ended(err)
	}
	return s.text[:n], nil
}

// number is an unsigned little-endian number of 1 to 8 bytes.
func (s *Scanner) number(op *Op, bytes int) error {
	text, err := s.take(bytes)
	if err != nil {
		return err
	}
	var wide [8]byte
	copy(wide[:], text)
	op.Number = int64(min(binary.LittleEndian.Uint64(wide[:]), math.MaxInt64)) //nolint:gosec // it fits
	return nil
}

// float is a number of 8 bytes, the only big-endian one.
func (s *Scanner) float(op *Op) error {
	text, err := s.take(8)
	if err == nil {
		op.Float = math.Float64frombits(binary.BigEndian.Uint64(text))
	}
	return err
}

// long is a number in two's complement of any length.
func (s *Scanner) long(op *Op, bytes int) error {
	if err := s.sized(op, bytes); err != nil {
		return err
	}
	text := op.Text
	op.Number, op.Text = 0, nil
	if len(text) == 0 {
		return nil
	}
	negative := text[len(text)-1] >= 0x80
	if len(text) > 8 {
		op.Number = farthest(text, negative)
		return nil
	}
	for i, b := range text {
		op.Number |= int64(b) << (8 * i)
	}
	unused := 64 - 8*len(text)
	op.Number = op.Number << unused >> unused
	return nil
}

// farthest is the nearest to a number of more than 8 bytes. An unsigned one of 64 bits has a ninth byte of 0: its bits
// are kept.
func farthest(text []byte, negative bool) int64 {
	switch {
	case len(text) == 9 && text[8] == 0:
		return int64(binary.LittleEndian.Uint64(text)) //nolint:gosec // its bits
	case negative:
		return math.MinInt64
	}
	return math.MaxInt64
}

func (s *Scanner) sized(op *Op, bytes int) error {
	if err := s.number(op, bytes); err != nil {
		return err
	}
	if op.Number > mostText {
		return fmt.Errorf("a text of %d bytes, limit %d", op.Number, mostText)
	}
	var err error
	op.Text, err = s.take(int(op.Number))
	return err
}

// name is two lines: a module and what is in it.
func (s *Scanner) name(op *Op) error {
	module, err := s.line()
	if err != nil {
		return err
	}
	name, err := s.line()
	op.Text = []byte(module + "." + name)
	return err
}

func (s *Scanner) line() (string, error) {
	var line []byte
	for len(line) < mostName {
		b, err := s.in.ReadByte()
		if err != nil {
			return "", s.ended(err)
		}
		s.read++
		if b == '\n' {
			return string(line), nil
		}
		line = append(line, b)
	}
	return "", fmt.Errorf("a name of more than %d bytes", mostName)
}
