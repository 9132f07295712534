package torchfile

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// input is the text of a pickle, with a limit.
type input struct {
	from *bufio.Reader
	read int64 // bytes so far
	most int64 // for the pickle that is read now
}

func newInput(from io.Reader) *input {
	return &input{from: bufio.NewReader(from), most: maxPickleBytes}
}

// take is the next n bytes, which are not allocated before they may be there.
func (in *input) take(n uint64) ([]byte, error) {
	if n > uint64(in.most-in.read) {
		return nil, fmt.Errorf("it has more than %d bytes at byte %d", in.most, in.read)
	}
	text := make([]byte, n)
	got, err := io.ReadFull(in.from, text)
	in.read += int64(got)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, fmt.Errorf("it ends at byte %d in the middle", in.read)
	}
	return text, err
}

func (in *input) byte() (byte, error) {
	text, err := in.take(1)
	if err != nil {
		return 0, err
	}
	return text[0], nil
}

// number is an unsigned little-endian number of 1 to 8 bytes.
func (in *input) number(bytes uint64) (uint64, error) {
	text, err := in.take(bytes)
	if err != nil {
		return 0, err
	}
	var wide [8]byte
	copy(wide[:], text)
	return binary.LittleEndian.Uint64(wide[:]), nil
}

// sized is a text behind its size, a number of that many bytes.
func (in *input) sized(bytes uint64) (string, error) {
	n, err := in.number(bytes)
	if err != nil {
		return "", err
	}
	text, err := in.take(n)
	return string(text), err
}

// line is a text up to the end of its line.
func (in *input) line() (string, error) {
	const most = 512 // names of classes and functions
	var line []byte
	for len(line) < most {
		b, err := in.byte()
		if err != nil {
			return "", err
		}
		if b == '\n' {
			return string(line), nil
		}
		line = append(line, b)
	}
	return "", fmt.Errorf("a name at byte %d has more than %d bytes", in.read, most)
}
