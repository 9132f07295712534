package agent

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
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
type header struct{ page []byte }

// openHeader maps the page. A folder without one, or with one half written, is not ready.
func openHeader(dir string) (*header, error) {
	file, err := os.OpenFile(filepath.Join(dir, headerFile), os.O_RDWR|syscall.O_NOFOLLOW, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errNotReady
	}
	if err != nil {
		return nil, err
	}
	defer file.Close() //nolint:errcheck // the mapping outlives it
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() < schemas.SpoolHeaderBytes {
		return nil, errNotReady
	}
	page, err := syscall.Mmap(int(file.Fd()), 0, schemas.SpoolHeaderBytes, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("map %s: %w", headerFile, err)
	}
	h := &header{page: page}
	if err := h.check(); err != nil {
		return nil, errors.Join(err, h.close())
	}
	return h, nil
}

func (h *header) check() error {
	if string(h.page[:len(schemas.SpoolMagic)]) != schemas.SpoolMagic {
		return errNotReady
	}
	head := h.load()
	if head.Version != schemas.SpoolVersion {
		return fmt.Errorf("the spool has version %d, this program reads %d: use a collector and an agent of the same release", head.Version, schemas.SpoolVersion)
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

// look shows the process that an agent is there.
func (h *header) look(now time.Time) {
	binary.LittleEndian.PutUint64(h.page[schemas.SpoolAgentOffset:], uint64(now.UnixNano())) //nolint:gosec // after 1970
}

// release tells the process how many segments are free.
func (h *header) release(first uint32) {
	binary.LittleEndian.PutUint32(h.page[schemas.SpoolAgentOffset+8:], first)
}

func (h *header) close() error {
	page := h.page
	h.page = nil
	if page == nil {
		return nil
	}
	return syscall.Munmap(page)
}
