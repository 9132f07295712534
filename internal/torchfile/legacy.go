package torchfile

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// legacyMagic is the first number of a file of torch.save before 1.6, as it is written.
const legacyMagic = "\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19"

// legacyVersion is the second one.
const legacyVersion = 1001

// openLegacy reads five pickles, one behind the other, and then storages: their count of elements, and these.
func openLegacy(file io.ReaderAt, size int64) (*Tensor, error) {
	in := newInput(io.NewSectionReader(file, 0, size))
	head, err := in.values(3) // magic, version, facts about the writing machine
	if err != nil {
		return nil, err
	}
	if head[0] != any(long(legacyMagic)) || head[1] != any(int64(legacyVersion)) {
		return nil, errors.New("a pickle, but none of torch.save")
	}
	if !littleEndian(head[2]) {
		return nil, errors.New("its elements are in another byte order than little-endian, or it does not say")
	}
	description, err := unpickle(in)
	if err != nil {
		return nil, fmt.Errorf("read the pickle of the tensor: %w", err)
	}
	keys, err := in.values(1)
	if err != nil {
		return nil, err
	}
	if key, ok := keys[0].(*list); !ok || len(key.items) != 1 || key.items[0] != any(description.storage.key) {
		return nil, errors.New("it has other storages than that of the tensor")
	}
	return description.behind(file, in.read, size)
}

// littleEndian looks for the byte order of the writing machine in the file.
func littleEndian(machine any) bool {
	facts, ok := machine.(*dict)
	if !ok {
		return false
	}
	for i := 0; i+1 < len(facts.items); i += 2 {
		if facts.items[i] == any("little_endian") {
			return facts.items[i+1] == any(true)
		}
	}
	return false
}

// values reads the next pickles, each with the same limit.
func (in *input) values(n int) ([]any, error) {
	values := make([]any, n)
	for i := range values {
		in.most = in.read + maxPickleBytes
		var err error
		if values[i], err = (&machine{in: in}).run(); err != nil {
			return nil, fmt.Errorf("read pickle %d: %w", i, err)
		}
	}
	in.most = in.read + maxPickleBytes
	return values, nil
}

// behind places the tensor in the storage at that byte, before which its count of elements stands.
func (d *described) behind(file io.ReaderAt, at, size int64) (*Tensor, error) {
	count := make([]byte, 8)
	if err := readFull(file, count, at); err != nil {
		return nil, fmt.Errorf("read the size of the storage: %w", err)
	}
	at += int64(len(count))
	if have := binary.LittleEndian.Uint64(count); have != uint64(d.storage.count) || d.storage.bytes() > size-at { //nolint:gosec // never negative
		return nil, fmt.Errorf("a storage of %d elements in %d bytes, and its pickle says %d", have, size-at, d.storage.count)
	}
	return d.tensor.place(file, at, d.storage.bytes())
}
