package agent

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"

	"github.com/tensortap/tensortap/internal/durable"
)

// window is the records that are published together. It is on disk before the first of its messages leaves, so that a
// restart makes the very same messages.
type window struct {
	Number      uint64            `json:"number"` // from 1
	From        uint64            `json:"from"`
	To          uint64            `json:"to"` // position after its last record
	Definitions int64             `json:"definitions"`
	Skipped     []uint64          `json:"skipped,omitempty"` // records within that were not written and were given up
	Gap         bool              `json:"gap,omitempty"`     // its records are gone: the process gave them up
	Missing     bool              `json:"missing,omitempty"` // or their file is, and nobody said so
	Lost        uint64            `json:"lost,omitempty"`    // records that were missing, at least
	Sign        *sign             `json:"sign,omitempty"`
	Closes      bool              `json:"closes,omitempty"`
	Dropped     uint64            `json:"dropped,omitempty"` // the header's count when it closes
	After       map[string]uint64 `json:"after,omitempty"`   // next batch of every kind
}

// cutEntry is one record of the file of cuts.
type cutEntry struct {
	Checkpoint *state  `json:"checkpoint,omitempty"`
	Window     *window `json:"window,omitempty"`
}

// cuts is the agent's memory in a process's folder: the last state whose messages were all acknowledged, and the
// windows since then. Each record has its length and checksum before it; the agent never acted on a torn one at the
// end.
type cuts struct {
	in       *os.Root
	log      *os.File
	size     int64
	position *os.File

	checkpoint *state   // the last
	windows    []window // behind it
}

// mostCuts is the size from which the file is begun anew at a checkpoint.
const mostCuts = 1 << 20

func openCuts(in *os.Root) (*cuts, error) {
	log, err := openFile(in, cutsFile, os.O_RDWR|os.O_CREATE)
	if err != nil {
		return nil, err
	}
	c := &cuts{in: in, log: log}
	if err := c.load(); err != nil {
		return nil, errors.Join(fmt.Errorf("read %s: %w", cutsFile, err), log.Close())
	}
	if c.position, err = openFile(in, positionFile, os.O_RDWR|os.O_CREATE); err != nil {
		return nil, errors.Join(err, log.Close())
	}
	return c, nil
}

func (c *cuts) load() error {
	data, err := io.ReadAll(c.log)
	if err != nil {
		return err
	}
	for {
		text, whole := firstDefinition(data)
		if !whole {
			break
		}
		var e cutEntry
		if err := json.Unmarshal(text, &e); err != nil {
			return err
		}
		c.note(&e)
		data = data[definitionHead+len(text):]
		c.size += definitionHead + int64(len(text))
	}
	return c.log.Truncate(c.size)
}

func (c *cuts) note(e *cutEntry) {
	if e.Checkpoint != nil {
		c.checkpoint, c.windows = e.Checkpoint, nil
	}
	if e.Window != nil {
		c.windows = append(c.windows, *e.Window)
	}
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

// append writes the entry and returns when it is on disk.
func (c *cuts) append(e *cutEntry) error {
	framed, err := encodeEntry(e)
	if err != nil {
		return err
	}
	if e.Checkpoint != nil && c.size > mostCuts {
		return c.renew(e, framed)
	}
	if _, err := c.log.WriteAt(framed, c.size); err != nil {
		return fmt.Errorf("write %s: %w", cutsFile, err)
	}
	if err := c.log.Sync(); err != nil {
		return fmt.Errorf("sync %s: %w", cutsFile, err)
	}
	c.size += int64(len(framed))
	c.note(e)
	return nil
}

// renew begins the file anew with the checkpoint.
func (c *cuts) renew(e *cutEntry, framed []byte) error {
	if err := durable.Replace(c.in, cutsFile, bytes.NewReader(framed)); err != nil {
		return err
	}
	log, err := openFile(c.in, cutsFile, os.O_RDWR)
	if err != nil {
		return err
	}
	if err := c.log.Close(); err != nil {
		return errors.Join(err, log.Close())
	}
	c.log, c.size = log, int64(len(framed))
	c.note(e)
	return nil
}

// acknowledge notes that every message of the window is in the stream. It is not forced to disk: forgotten, the window
// is published once more, and known to be a repetition by its ids.
func (c *cuts) acknowledge(number uint64) error {
	note := binary.LittleEndian.AppendUint64(nil, number)
	note = binary.LittleEndian.AppendUint32(note, crc32.ChecksumIEEE(note))
	_, err := c.position.WriteAt(note, 0)
	return err
}

// acknowledged is the last window known to be in the stream.
func (c *cuts) acknowledged() uint64 {
	note := make([]byte, 12)
	if _, err := c.position.ReadAt(note, 0); err != nil || crc32.ChecksumIEEE(note[:8]) != binary.LittleEndian.Uint32(note[8:]) {
		return 0
	}
	return binary.LittleEndian.Uint64(note)
}

func (c *cuts) close() error { return errors.Join(c.log.Close(), c.position.Close()) }

// missing says whether a file of the folder is not there.
func missing(err error) bool { return errors.Is(err, fs.ErrNotExist) }
