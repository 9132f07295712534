package torchfile

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
)

// The standard library's reader of archives allocates by the archive's own figures. This one reads
// archives of torch.save, whose members are stored uncompressed, so that none can be larger than
// the file.

// Signatures and sizes of the parts of an archive.
const (
	memberSignature    = "PK\x03\x04"
	directorySignature = "PK\x01\x02"
	endSignature       = "PK\x05\x06"
	end64Signature     = "PK\x06\x06"
	locatorSignature   = "PK\x06\x07"

	memberBytes    = 30
	directoryBytes = 46
	endBytes       = 22
	end64Bytes     = 56
	locatorBytes   = 20
	maxComment     = math.MaxUint16
)

// readDirectory lists the members.
func readDirectory(file io.ReaderAt, size int64) (*archive, error) {
	d, err := findDirectory(file, size)
	if err != nil {
		return nil, err
	}
	if d.size > maxDirectoryBytes || d.at > uint64(size) || d.size > uint64(size)-d.at {
		return nil, fmt.Errorf("a directory of %d bytes at %d, limit %d", d.size, d.at, maxDirectoryBytes)
	}
	text := make([]byte, d.size)
	a := &archive{file: file, end: int64(d.at)}
	if err := readFull(file, text, a.end); err != nil {
		return nil, err
	}
	for range d.count {
		if text, err = a.add(text); err != nil {
			return nil, fmt.Errorf("member %d: %w", len(a.members), err)
		}
	}
	return a, a.order()
}

// order sorts the members as they lie in the file, where no two may begin at the same place or have the same name.
func (a *archive) order() error {
	names := map[string]bool{}
	for _, m := range a.members {
		if names[m.name] {
			return fmt.Errorf("two members are named %q", m.name)
		}
		names[m.name] = true
	}
	slices.SortFunc(a.members, func(a, b member) int { return cmp.Compare(a.header, b.header) })
	return nil
}

// add reads one entry of the directory, and returns the text behind it.
func (a *archive) add(text []byte) ([]byte, error) {
	if len(text) < directoryBytes || !bytes.HasPrefix(text, []byte(directorySignature)) {
		return nil, errors.New("the directory ends in the middle")
	}
	name, extra, comment := int(uint16at(text, 28)), int(uint16at(text, 30)), int(uint16at(text, 32))
	if len(text) < directoryBytes+name+extra+comment {
		return nil, errors.New("the directory ends in the middle")
	}
	rest := text[directoryBytes:]
	m := member{name: string(rest[:name])}
	if flags, method := uint16at(text, 8), uint16at(text, 10); flags&1 != 0 || method != 0 {
		return nil, fmt.Errorf("%q is compressed or encrypted (method %d), which torch.save does not do", m.name, method)
	}
	sizes := wideSizes{
		full:   uint64(uint32at(text, 24)),
		packed: uint64(uint32at(text, 20)),
		header: uint64(uint32at(text, 42)),
	}
	sizes.widen(rest[name : name+extra])
	if sizes.full != sizes.packed || sizes.full > math.MaxInt64 || sizes.header > uint64(a.end) {
		return nil, fmt.Errorf("%q has %d bytes, %d of them stored, at %d", m.name, sizes.full, sizes.packed, sizes.header)
	}
	m.size, m.header = int64(sizes.full), int64(sizes.header)
	a.members = append(a.members, m)
	return rest[name+extra+comment:], nil
}

// wideSizes are the numbers of an entry, which stand in its extra field when they are too great for their own.
type wideSizes struct{ full, packed, header uint64 }

func (s *wideSizes) widen(extra []byte) {
	const zip64 = 1
	for len(extra) >= 4 {
		kind, length := uint16at(extra, 0), int(uint16at(extra, 2))
		extra = extra[4:]
		if length > len(extra) {
			return
		}
		field := extra[:length]
		extra = extra[length:]
		if kind != zip64 {
			continue
		}
		for _, number := range []*uint64{&s.full, &s.packed, &s.header} {
			if *number == math.MaxUint32 && len(field) >= 8 {
				*number = binary.LittleEndian.Uint64(field)
				field = field[8:]
			}
		}
	}
}

// directory returns the place of the list of members.
type directory struct{ count, size, at uint64 }

// findDirectory reads the end of an archive.
func findDirectory(file io.ReaderAt, size int64) (directory, error) {
	tail := make([]byte, min(size, endBytes+maxComment))
	start := size - int64(len(tail))
	if err := readFull(file, tail, start); err != nil {
		return directory{}, err
	}
	i := lastEnd(tail)
	if i < 0 {
		return directory{}, errors.New("it has no end: the file was cut short")
	}
	end := tail[i:]
	d := directory{count: uint64(uint16at(end, 10)), size: uint64(uint32at(end, 12)), at: uint64(uint32at(end, 16))}
	if i < locatorBytes || !bytes.HasPrefix(tail[i-locatorBytes:], []byte(locatorSignature)) {
		return d, nil
	}
	at := binary.LittleEndian.Uint64(tail[i-locatorBytes+8:])
	wide := make([]byte, end64Bytes)
	if at > uint64(size) {
		return directory{}, fmt.Errorf("its end is said to be at %d", at)
	}
	if err := readFull(file, wide, int64(at)); err != nil || !bytes.HasPrefix(wide, []byte(end64Signature)) {
		return directory{}, fmt.Errorf("its end is not at %d", at)
	}
	number := func(at int) uint64 { return binary.LittleEndian.Uint64(wide[at:]) }
	return directory{count: number(32), size: number(40), at: number(48)}, nil
}

// lastEnd is the place of the last end record whose comment fills the rest; -1 when there is none.
func lastEnd(tail []byte) int {
	for i := len(tail) - endBytes; i >= 0; i-- {
		if bytes.HasPrefix(tail[i:], []byte(endSignature)) && i+endBytes+int(uint16at(tail, i+20)) == len(tail) {
			return i
		}
	}
	return -1
}

func uint16at(text []byte, at int) uint16 { return binary.LittleEndian.Uint16(text[at:]) }

func uint32at(text []byte, at int) uint32 { return binary.LittleEndian.Uint32(text[at:]) }

// readFull fills text from that place of the file.
func readFull(file io.ReaderAt, text []byte, at int64) error {
	n, err := file.ReadAt(text, at)
	if n == len(text) {
		return nil
	}
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return err
}
