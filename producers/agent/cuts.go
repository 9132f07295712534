package agent

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"syscall"

	"github.com/tensortap/tensortap/internal/durable"
)

// window is the records that are published together. It is on disk before the first of its messages leaves, so that a
// restart makes the very same messages.
type window struct {
	Number      uint64            `json:"number"` // from 1
	From        uint64            `json:"from"`
	To          uint64            `json:"to"` // position after its last record
	Definitions int64             `json:"definitions"`
	Sum         uint32            `json:"sum,omitempty"`     // of its records and definitions; 0 when an earlier release cut it
	Skipped     []uint64          `json:"skipped,omitempty"` // records within that were not written and were given up
	Gap         bool              `json:"gap,omitempty"`     // its records are gone: the process gave them up
	Missing     bool              `json:"missing,omitempty"` // or their file is, and nobody said so
	Lost        uint64            `json:"lost,omitempty"`    // records that were missing, at least
	Sign        *sign             `json:"sign,omitempty"`
	Rivals      int               `json:"rivals,omitempty"` // processes that say they are this rank, too, where there are more than before
	Closes      bool              `json:"closes,omitempty"`
	Dropped     uint64            `json:"dropped,omitempty"` // the header's count when it closes
	After       map[string]uint64 `json:"after,omitempty"`   // next batch of every kind
}

// cutEntry is one record of a file of cuts.
type cutEntry struct {
	Epoch      uint64  `json:"epoch,omitempty"` // of the process; earlier agents wrote none
	Turn       uint64  `json:"turn,omitempty"`  // grows each time that the other file is begun
	Checkpoint *state  `json:"checkpoint,omitempty"`
	Window     *window `json:"window,omitempty"`
}

// cuts is the agent's memory in a process's folder: the last state whose messages were all acknowledged, and the
// windows since then. Each record has its length and checksum before it; the agent never acted on a torn one at the
// end. There are two files, each with room that is taken before it is needed: the state by which space comes back must
// be written on a full disk, too, and not over the last one.
type cuts struct {
	epoch    uint64 // of the process
	logs     [2]*durable.File
	now      int    // the file in use, whose records have the greatest turn
	turn     uint64 // of the records in it; others are of an earlier use
	size     int64  // of these records
	position *durable.File

	checkpoint *state   // the last
	windows    []window // behind it
}

const (
	// cutsRoom is the room taken for each file of cuts: that of the largest state between two steps, and of as much again.
	cutsRoom      = 512 << 10
	positionBytes = 12
	// mostCuts is the size from which the other file is begun at a checkpoint.
	mostCuts = cutsRoom / 2
)

// errFull says that the disk has no room for a record, and that nothing has changed. A checkpoint can be left for later.
var errFull = errors.New("the disk is full")

// errUnknownCuts says that nobody knows which records were published, and in which messages.
var errUnknownCuts = errors.New("what was published of it is not known, since its files cuts, cuts-other and position are damaged, lost or of another process: put them back, or remove the folder")

func openCuts(disk durable.Disk, in *os.Root, epoch uint64) (*cuts, error) {
	c := &cuts{epoch: epoch}
	if err := c.open(disk, in); err != nil {
		return nil, errors.Join(err, c.close())
	}
	return c, nil
}

func (c *cuts) open(disk durable.Disk, in *os.Root) (err error) {
	for i, name := range []string{cutsFile, otherCutsFile} {
		if c.logs[i], err = openOn(disk, in, name); err != nil {
			return err
		}
		if err := c.load(i); err != nil {
			return fmt.Errorf("read %s: %w", name, err)
		}
	}
	if c.position, err = openOn(disk, in, positionFile); err != nil {
		return err
	}
	if c.acknowledged() > c.last() {
		return errUnknownCuts
	}
	err = errors.Join(takeRoom(c.logs[0], cutsRoom), takeRoom(c.logs[1], cutsRoom), takeRoom(c.position, positionBytes))
	return errors.Join(err, c.settle(in))
}

func openOn(disk durable.Disk, in *os.Root, name string) (*durable.File, error) {
	const flag = os.O_RDWR | os.O_CREATE
	return disk.Open(name, flag, func() (*os.File, error) { return openFile(in, name, flag) })
}

// settle makes durable what the next windows build on: the names of the files, which nobody else syncs, and a last record
// that an agent was killed over.
func (c *cuts) settle(in *os.Root) error {
	if c.size > 0 {
		if err := c.logs[c.now].Sync(); err != nil {
			return fmt.Errorf("sync %s: %w", cutsFile, err)
		}
	}
	return syncNames(in)
}

// takeRoom fills the file with zeros up to the size, as far as the disk has room.
func takeRoom(file *durable.File, size int64) error {
	info, err := file.Stat()
	if err != nil || info.Size() >= size {
		return err
	}
	if _, err = file.WriteAt(make([]byte, size-info.Size()), info.Size()); errors.Is(err, syscall.ENOSPC) {
		return nil
	}
	return err
}

// load takes over the records of a file if they are the latest.
func (c *cuts) load(file int) error {
	data, err := io.ReadAll(c.logs[file])
	if err != nil {
		return err
	}
	entries, size, err := decodeEntries(data)
	if err != nil || len(entries) == 0 || entries[0].Turn < c.turn {
		return err
	}
	c.now, c.turn, c.size, c.checkpoint, c.windows = file, entries[0].Turn, size, nil, nil
	for i := range entries {
		if of := entries[i].Epoch; of != 0 && of != c.epoch {
			return errUnknownCuts
		}
		c.note(&entries[i])
	}
	return nil
}

// decodeEntries are the records from the beginning that are whole and of one turn, and their size.
func decodeEntries(data []byte) (entries []cutEntry, size int64, err error) {
	for {
		text, whole := firstDefinition(data[size:])
		if !whole {
			return entries, size, nil
		}
		var e cutEntry
		if err := json.Unmarshal(text, &e); err != nil {
			return nil, 0, err
		}
		if len(entries) > 0 && e.Turn != entries[0].Turn {
			return entries, size, nil
		}
		entries = append(entries, e)
		size += definitionHead + int64(len(text))
	}
}

func (c *cuts) note(e *cutEntry) {
	if e.Checkpoint != nil {
		c.checkpoint, c.windows = e.Checkpoint, nil
	}
	if e.Window != nil {
		c.windows = append(c.windows, *e.Window)
	}
}

// last is the last window that was noted.
func (c *cuts) last() uint64 {
	if n := len(c.windows); n > 0 {
		return c.windows[n-1].Number
	}
	if c.checkpoint != nil {
		return c.checkpoint.Window
	}
	return 0
}

func encodeEntry(e *cutEntry) ([]byte, error) {
	text, err := json.Marshal(e)
	if err != nil {
		return nil, err
	}
	framed := binary.LittleEndian.AppendUint32(nil, uint32(len(text))) //nolint:gosec // bounded by the state
	framed = binary.LittleEndian.AppendUint32(framed, crc32.Checksum(text, crc32.MakeTable(crc32.Castagnoli)))
	return append(framed, text...), nil
}

// append writes the entry and returns when it is on disk. With errFull it is not, and the one before is the last.
func (c *cuts) append(e *cutEntry) error {
	e.Epoch, e.Turn = c.epoch, c.turn
	framed, err := encodeEntry(e)
	if err != nil {
		return err
	}
	if e.Checkpoint != nil && (c.size > mostCuts || c.size+int64(len(framed)) > cutsRoom) {
		return c.begin(e)
	}
	return c.write(c.now, c.size, e, framed)
}

// begin begins the other file with a checkpoint. What it had before has an earlier turn.
func (c *cuts) begin(e *cutEntry) error {
	e.Epoch, e.Turn = c.epoch, c.turn+1
	framed, err := encodeEntry(e)
	if err != nil {
		return err
	}
	return c.write(1-c.now, 0, e, framed)
}

func (c *cuts) write(file int, at int64, e *cutEntry, framed []byte) error {
	switch _, err := c.logs[file].WriteAt(framed, at); {
	case errors.Is(err, syscall.ENOSPC):
		return fmt.Errorf("write %s: %w: %w", cutsFile, errFull, err)
	case err != nil:
		return fmt.Errorf("write %s: %w", cutsFile, err)
	}
	if err := c.logs[file].Sync(); err != nil { // no errFull: the next agent may find it whole
		return fmt.Errorf("sync %s: %w", cutsFile, err)
	}
	c.now, c.turn, c.size = file, e.Turn, at+int64(len(framed))
	c.note(e)
	return nil
}

// acknowledge notes that every message of the window is in the stream. It is not forced to disk: forgotten, the window
// is published once more, and known to be a repetition by its ids.
func (c *cuts) acknowledge(number uint64) error {
	note := binary.LittleEndian.AppendUint64(nil, number)
	note = binary.LittleEndian.AppendUint32(note, c.checksum(note))
	_, err := c.position.WriteAt(note, 0)
	return err
}

// acknowledged is the last window known to be in the stream.
func (c *cuts) acknowledged() uint64 {
	note := make([]byte, positionBytes)
	if _, err := c.position.ReadAt(note, 0); err != nil || c.checksum(note[:8]) != binary.LittleEndian.Uint32(note[8:]) {
		return 0
	}
	return binary.LittleEndian.Uint64(note)
}

// checksum of what position holds, which is this process's alone.
func (c *cuts) checksum(number []byte) uint32 {
	return crc32.Update(crc32.ChecksumIEEE(number), crc32.IEEETable, binary.LittleEndian.AppendUint64(nil, c.epoch))
}

func (c *cuts) close() error {
	var all []error
	for _, file := range []*durable.File{c.logs[0], c.logs[1], c.position} {
		if file != nil {
			all = append(all, file.Close())
		}
	}
	return errors.Join(all...)
}

// missing says whether a file of the folder is not there.
func missing(err error) bool { return errors.Is(err, fs.ErrNotExist) }
