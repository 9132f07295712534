// Package lines reads files of lines, for every producer of such files, in bounded memory. A line that is too long ends
// nothing: it is told of, and the next one follows.
package lines

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"unsafe"
)

// Longest is the number of bytes that a line may have; an op over thousands of tensors takes some hundred kilobytes.
const Longest = 8 << 20

const (
	usual      = 64 << 10
	mostQuoted = 80 // bytes
)

// Line is one of a file. Its text is good until the next one.
type Line struct {
	Text    []byte // without its end
	From    int64  // where it begins in the file
	TooLong bool   // Text is the first part of it
	Whole   bool   // its end was written
}

// Each gives the lines that are not empty, and their places in a file of which input begins at from.
func Each(input io.Reader, from int64, each func(Line) error) error {
	reader := reader{from: bufio.NewReaderSize(input, usual)}
	for {
		l, size, err := reader.next()
		l.From = from
		from += size
		if len(bytes.TrimSpace(l.Text)) > 0 {
			if err := each(l); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// reader takes memory for a long line where there is one.
type reader struct {
	from *bufio.Reader
	long []byte
}

// next is a line and its size in the file, beside an error that ends the file.
func (r *reader) next() (l Line, size int64, err error) {
	part, err := r.from.ReadSlice('\n')
	if size = int64(len(part)); !errors.Is(err, bufio.ErrBufferFull) {
		return Line{Text: bytes.TrimSuffix(part, []byte("\n")), Whole: err == nil}, size, err
	}
	r.long = append(r.long[:0], part...)
	for errors.Is(err, bufio.ErrBufferFull) {
		part, err = r.from.ReadSlice('\n')
		size += int64(len(part))
		if len(r.long) <= Longest {
			r.long = append(r.long, part...)
		}
	}
	return Line{Text: bytes.TrimSuffix(r.long, []byte("\n")), Whole: err == nil, TooLong: len(r.long) > Longest}, size, err
}

// View is the text without a copy of it, good until the next line as well.
func (l Line) View() string { return unsafe.String(unsafe.SliceData(l.Text), len(l.Text)) }

// Err is why the line cannot be read whatever is in it; nil if it can.
func (l Line) Err() error {
	if l.TooLong {
		return fmt.Errorf("longer than %d bytes", Longest)
	}
	return nil
}

// Quote is the beginning of a text, for a message.
func Quote[T []byte | string](text T) string {
	shown := strings.ToValidUTF8(string(text[:min(len(text), mostQuoted)]), "?")
	if len(text) > mostQuoted {
		shown += "…"
	}
	return fmt.Sprintf("%q", shown)
}
