package logfiles

import (
	"compress/gzip"
	"errors"
	"io"
	"strings"
)

const packedSuffix = ".gz"

// unpacked gives the bytes of a file, those of one that gzip packed as far as they can be unpacked.
type unpacked struct {
	from   io.Reader
	packed bool
	read   int64
	damage error // that ended it
}

// newUnpacked reads as many bytes of the file as there were when it was found.
func (f *file) newUnpacked(input io.Reader) *unpacked {
	u := &unpacked{from: io.LimitReader(input, f.size), packed: f.isPacked()}
	if !u.packed || f.size == 0 {
		return u
	}
	from, err := gzip.NewReader(u.from)
	if err != nil {
		return &unpacked{from: strings.NewReader(""), packed: true, damage: err}
	}
	u.from = from
	return u
}

func (f *file) isPacked() bool { return strings.HasSuffix(f.path, packedSuffix) }

// Read hides damage of what was packed from who reads lines: those before it are kept.
func (u *unpacked) Read(to []byte) (int, error) {
	n, err := u.from.Read(to)
	u.read += int64(n)
	if u.packed && err != nil && !errors.Is(err, io.EOF) {
		u.damage = err
		return n, io.EOF
	}
	return n, err
}
