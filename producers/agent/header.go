package agent

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"github.com/tensortap/tensortap/schemas"
)

// Names of the files of a process's folder.
const (
	headerFile      = "header"
	definitionsFile = "definitions"
	lockFile        = "lock"
	positionFile    = "position"
	cutsFile        = "cuts"
	otherCutsFile   = "cuts-other"
	stacksFile      = "stacks"
	segmentPrefix   = "rows-"
)

// States of a process.
const (
	stateRunning = 1
	stateEnded   = 2
)

// errNotReady says that the process has not finished making its folder.
var errNotReady = errors.New("its process has not finished making it, and never will if it is gone: remove it then")

// header is the page that process and agent share.
type header struct {
	file *os.File
	page []byte
}

// openHeader maps the page. A folder without one, or with one half written, is not ready.
func openHeader(in *os.Root) (*header, error) {
	file, err := openFile(in, headerFile, os.O_RDWR)
	if missing(err) {
		return nil, errNotReady
	}
	if err != nil {
		return nil, err
	}
	h := &header{file: file}
	err = h.open()
	if err == nil {
		err = h.check()
	}
	if err != nil {
		return nil, errors.Join(err, h.close())
	}
	return h, nil
}

func (h *header) open() error {
	info, err := h.file.Stat()
	if err != nil {
		return err
	}
	if info.Size() < schemas.SpoolHeaderBytes {
		return errNotReady
	}
	h.page, err = syscall.Mmap(int(h.file.Fd()), 0, schemas.SpoolHeaderBytes, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	if err != nil {
		return fmt.Errorf("map %s: %w", headerFile, err)
	}
	return nil
}

func (h *header) check() error {
	if string(h.page[:len(schemas.SpoolMagic)]) != schemas.SpoolMagic {
		return errNotReady
	}
	head := h.load()
	if head.Version < schemas.SpoolUncheckedVersion || head.Version > schemas.SpoolVersion {
		return fmt.Errorf("the spool has version %d, this program reads up to %d: use a collector and an agent of the same release", head.Version, schemas.SpoolVersion)
	}
	const mostRows = 1 << 24
	if head.SegmentRows == 0 || head.SegmentRows > mostRows {
		return fmt.Errorf("the spool has segments of %d records, want 1 to %d", head.SegmentRows, mostRows)
	}
	return nil
}

// load reads the process's part as it is now.
func (h *header) load() schemas.SpoolHead {
	var head schemas.SpoolHead
	head.Load(h.page)
	return head
}

// isHeld says whether a process, stopped or not, holds the page's lock, which it does until it is gone. That of
// another machine may not be seen from here.
func (h *header) isHeld() bool {
	file := int(h.file.Fd())
	err := syscall.Flock(file, syscall.LOCK_SH|syscall.LOCK_NB)
	if err == nil {
		err = syscall.Flock(file, syscall.LOCK_UN)
	}
	return errors.Is(err, syscall.EWOULDBLOCK)
}

// look shows the process that an agent is there.
func (h *header) look(now time.Time) {
	binary.LittleEndian.PutUint64(h.page[schemas.SpoolAgentOffset:], uint64(now.UnixNano())) //nolint:gosec // after 1970
}

// looked is when an agent last did so.
func (h *header) looked() int64 {
	return int64(binary.LittleEndian.Uint64(h.page[schemas.SpoolAgentOffset:])) //nolint:gosec // as it was written
}

// release tells the process how many segments are free.
func (h *header) release(first uint32) {
	binary.LittleEndian.PutUint32(h.page[schemas.SpoolAgentOffset+8:], first)
}

func (h *header) close() error {
	page := h.page
	h.page = nil
	if page == nil {
		return h.file.Close()
	}
	return errors.Join(syscall.Munmap(page), h.file.Close())
}
