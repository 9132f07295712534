package lines

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strings"
)

// Text is a line whose text stays good. Lines that stand together share memory.
type Text struct {
	Text    string // without its end
	From    int64  // where it begins in the file
	TooLong bool   // Text is the first part of it
}

// EachText is Each, for those who keep texts: they are copied many lines at a time.
func EachText(input io.Reader, from int64, each func(Text) error) error {
	buffered := bufio.NewReaderSize(input, usual)
	one := reader{from: buffered}
	for {
		ahead, _ := buffered.Peek(usual) // an error comes back with the line that it ends
		end := bytes.LastIndexByte(ahead, '\n') + 1
		if end == 0 {
			l, size, err := one.next()
			if err := tell(Text{string(l.Text), from, l.TooLong}, each); err != nil {
				return err
			}
			if err != nil {
				return unlessEnd(err)
			}
			from += size
			continue
		}
		if err := split(string(ahead[:end]), from, each); err != nil {
			return err
		}
		_, _ = buffered.Discard(end) // of what was looked at
		from += int64(end)
	}
}

// split gives the lines of a text that ends where one does.
func split(block string, from int64, each func(Text) error) error {
	for at := 0; at < len(block); {
		size := strings.IndexByte(block[at:], '\n')
		if err := tell(Text{Text: block[at : at+size], From: from + int64(at)}, each); err != nil {
			return err
		}
		at += size + 1
	}
	return nil
}

func tell(l Text, each func(Text) error) error {
	if strings.TrimSpace(l.Text) == "" {
		return nil
	}
	return each(l)
}

func unlessEnd(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}
