package torchfile

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
)

// member is one file in an archive.
type member struct {
	name   string
	header int64 // where its own header stands
	size   int64
}

// archive is the list of its members.
type archive struct {
	file    io.ReaderAt
	members []member // in the order of the file
	end     int64    // where the directory begins
}

// pickled is the result of an archive's pickle. Its tensors have no elements yet.
type pickled struct {
	archive *archive
	prefix  string // of the folder that the pickle lies in
	value   any
}

func openArchive(file io.ReaderAt, size int64) (*Tensor, error) {
	p, err := readArchive(file, size)
	if err != nil {
		return nil, err
	}
	made, err := onlyTensor(wrapped(p.value))
	if err != nil {
		return nil, fmt.Errorf("read %sdata.pkl: %w", p.prefix, err)
	}
	return p.place(made)
}

func readArchive(file io.ReaderAt, size int64) (*pickled, error) {
	a, err := readDirectory(file, size)
	if err != nil {
		return nil, fmt.Errorf("list the members of an archive of %d bytes: %w", size, err)
	}
	program, prefix, err := a.program()
	if err != nil {
		return nil, err
	}
	if err := a.checkByteOrder(prefix); err != nil {
		return nil, err
	}
	value, err := (&machine{in: newInput(bytes.NewReader(program))}).run()
	if err != nil {
		return nil, fmt.Errorf("read %sdata.pkl: %w", prefix, err)
	}
	return &pickled{archive: a, prefix: prefix, value: value}, nil
}

// place finds the elements of a tensor.
func (p *pickled) place(made *described) (*Tensor, error) {
	key := p.prefix + "data/" + made.storage.key
	at, stored, err := p.archive.find(key)
	if err != nil {
		return nil, err
	}
	if want := made.storage.bytes(); stored != want {
		return nil, fmt.Errorf("%s has %d bytes, and data.pkl says %d", key, stored, want)
	}
	return made.tensor.place(p.archive.file, at, stored)
}

// program is the pickle, and the folder that it lies in.
func (a *archive) program() (text []byte, prefix string, err error) {
	found := 0
	for _, m := range a.members {
		if folder, rest, ok := strings.Cut(m.name, "/"); ok && rest == "data.pkl" {
			prefix = folder + "/"
			found++
		}
	}
	if found != 1 {
		return nil, "", fmt.Errorf("the archive has %d members FOLDER/data.pkl, want 1", found)
	}
	text, err = a.read(prefix+"data.pkl", maxPickleBytes)
	return text, prefix, err
}

// checkByteOrder refuses files of a big-endian machine. Old files do not say.
func (a *archive) checkByteOrder(prefix string) error {
	if !slices.ContainsFunc(a.members, func(m member) bool { return m.name == prefix+"byteorder" }) {
		return nil
	}
	order, err := a.read(prefix+"byteorder", 16)
	if err == nil && string(order) != "little" {
		return fmt.Errorf("its elements are in %q byte order, want little", order)
	}
	return err
}

// read is the content of a small member.
func (a *archive) read(name string, limit int64) ([]byte, error) {
	at, size, err := a.find(name)
	if err != nil {
		return nil, err
	}
	if size > limit {
		return nil, fmt.Errorf("%s has %d bytes, limit %d", name, size, limit)
	}
	text := make([]byte, size)
	if err := readFull(a.file, text, at); err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	return text, nil
}

// find returns the place of a member's content.
func (a *archive) find(name string) (at, size int64, err error) {
	i := slices.IndexFunc(a.members, func(m member) bool { return m.name == name })
	if i < 0 {
		return 0, 0, fmt.Errorf("the archive has no member %q", name)
	}
	m := a.members[i]
	head := make([]byte, memberBytes)
	if err := readFull(a.file, head, m.header); err != nil || !bytes.HasPrefix(head, []byte(memberSignature)) {
		return 0, 0, fmt.Errorf("member %q does not begin at byte %d", name, m.header)
	}
	at = m.header + memberBytes + int64(uint16at(head, 26)) + int64(uint16at(head, 28))
	end := a.end
	if i+1 < len(a.members) {
		end = a.members[i+1].header
	}
	if m.size > end-at {
		return 0, 0, fmt.Errorf("member %q of %d bytes at %d reaches into what begins at %d", name, m.size, at, end)
	}
	return at, m.size, nil
}
