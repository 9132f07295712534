package agent

import (
	"errors"
	"fmt"
	"math"
	"os"
	"sync/atomic"
	"syscall"
	"unsafe"

	"github.com/tensortap/tensortap/schemas"
)

// errGone says that the segment is not there to be read: its process gave it up, or somebody removed it or cut it short, or
// a loss of power left something else in its place.
var errGone = errors.New("segment given up by its process, or damaged")

// segments reads records by their position, which counts from the first record of the process. One segment is mapped
// at a time. It is not safe for use by several goroutines.
type segments struct {
	in     *os.Root
	rows   uint64 // of a segment
	epoch  uint64 // of the process
	layout uint32 // its version
	number uint64 // of the mapped one
	place  uint32 // of that one
	memory []byte
}

func segmentName(number uint64) string { return fmt.Sprintf("%s%08d", segmentPrefix, number) }

// damaged is the kind of a record whose checksum is not that of its content in its place.
const damaged = math.MaxUint32

// kind is the kind of the record at the position: 0 while it is not written.
func (s *segments) kind(position uint64) (uint32, error) {
	record, err := s.record(position)
	if err != nil {
		return 0, err
	}
	// Fields before the commit word are written before it; the load keeps that order for the reader.
	word := atomic.LoadUint32((*uint32)(unsafe.Pointer(&record[schemas.SpoolCommitOffset])))
	kind := word & schemas.SpoolKindMask
	if word != 0 && s.layout > schemas.SpoolUncheckedVersion && word != schemas.SpoolCommit(kind, s.place, record) {
		return damaged, nil
	}
	return kind, nil
}

// record is the memory of the record at the position, good until another segment is asked for.
func (s *segments) record(position uint64) ([]byte, error) {
	if number := position / s.rows; s.memory == nil || number != s.number {
		if err := s.open(number); err != nil {
			return nil, err
		}
	}
	at := position % s.rows * schemas.SpoolRecordBytes
	return s.memory[at : at+schemas.SpoolRecordBytes : at+schemas.SpoolRecordBytes], nil
}

func (s *segments) open(number uint64) error {
	if err := s.close(); err != nil {
		return err
	}
	file, err := openFile(s.in, segmentName(number), os.O_RDONLY)
	if missing(err) {
		return errGone
	}
	if err != nil {
		return err
	}
	defer file.Close() //nolint:errcheck // the mapping outlives it
	info, err := file.Stat()
	if err != nil {
		return err
	}
	// A shorter one would end the agent by a signal when its missing part is read.
	if info.Size() < s.size() {
		return errGone
	}
	s.memory, err = syscall.Mmap(int(file.Fd()), 0, int(s.size()), syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		return fmt.Errorf("map segment %s: %w", segmentName(number), err)
	}
	s.number = number
	if s.layout > schemas.SpoolUnplacedVersion {
		s.place = schemas.SpoolPlace(s.epoch, uint32(number)) //nolint:gosec // the header's numbers of segments are no larger
	}
	return nil
}

// size is the bytes of a whole segment.
func (s *segments) size() int64 {
	return int64(s.rows) * schemas.SpoolRecordBytes //nolint:gosec // checked by the header
}

// isShort says whether the segment of that name was cut short.
func (s *segments) isShort(name string) bool {
	info, err := s.in.Lstat(name)
	return err == nil && info.Size() < s.size()
}

func (s *segments) close() error {
	memory := s.memory
	s.memory = nil
	if memory == nil {
		return nil
	}
	return syscall.Munmap(memory)
}
