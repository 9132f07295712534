package follow

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/tensortap/tensortap/internal/durable"
)

// part is a part of a file, in a window.
type part struct {
	ID     string `json:"id"`
	Path   string `json:"path"`
	Stream string `json:"stream"`
	PID    int64  `json:"pid,omitempty"`
	Role   string `json:"role,omitempty"`
	From   int64  `json:"from"`
	To     int64  `json:"to"`
	Sum    uint64 `json:"sum"`

	TimeNs int64  `json:"-"` // of the cut
	Host   string `json:"-"`
}

// cut is a window: the parts of files that are published together. It is on the disk before the first of its messages
// leaves, so that a restart makes the very same messages.
type cut struct {
	Number uint64 `json:"number"`
	TimeNs int64  `json:"time_ns"`
	Log    uint64 `json:"log"` // number of the first batch
	Metric uint64 `json:"metric"`
	Parts  []part `json:"parts"`
}

// entry is a line of the file of states.
type entry struct {
	Epoch        uint64           `json:"epoch,omitempty"`
	Cut          *cut             `json:"cut,omitempty"`
	Acknowledged uint64           `json:"acknowledged,omitempty"` // a cut
	Log          uint64           `json:"log,omitempty"`          // next batches, with it
	Metric       uint64           `json:"metric,omitempty"`
	At           map[string]int64 `json:"at,omitempty"` // of files, at the beginning of a file of states
	Done         bool             `json:"done,omitempty"`
}

// state is what was published, on the disk: lines of JSON behind their checksums.
type state struct {
	path        string
	file        *os.File
	size        int64
	epoch       uint64
	number      uint64 // of the last cut
	log, metric uint64 // next batches
	at          map[string]int64
	open        *cut // that is not acknowledged
	done        bool
}

const mostState = 1 << 20 // bytes of the file, from which it is written anew

// openState takes the state's lock, and reads it. Held says that another process has it.
func openState(path string, newEpoch func() uint64) (s *state, held bool, err error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600) //nolint:gosec // named by the caller
	if err != nil {
		return nil, false, fmt.Errorf("open what was published: %w", err)
	}
	s = &state{path: path, file: file, at: map[string]int64{}}
	err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) //nolint:gosec // small
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return s, true, nil
	}
	if err == nil && !s.isThere() { // whoever had it wrote it anew meanwhile
		return s, true, nil
	}
	if err == nil {
		err = s.load()
	}
	if err == nil && s.epoch == 0 {
		s.epoch = newEpoch() | 1
		err = s.write(entry{Epoch: s.epoch}, true)
		err = errors.Join(err, durable.SyncFolder(filepath.Dir(path)))
	}
	return s, false, err
}

func (s *state) isThere() bool {
	opened, err := s.file.Stat()
	named, failed := os.Stat(s.path)
	return err == nil && failed == nil && os.SameFile(opened, named)
}

func (s *state) load() error {
	data, err := io.ReadAll(s.file)
	if err != nil {
		return err
	}
	for {
		line, rest, whole := bytes.Cut(data, []byte("\n"))
		sum, text, framed := bytes.Cut(line, []byte(" "))
		if !whole || !framed || string(sum) != checksum(text) {
			return nil // nobody has acted on what is behind
		}
		var e entry
		if err := json.Unmarshal(text, &e); err != nil {
			return fmt.Errorf("read %s: %w", s.path, err)
		}
		s.note(&e)
		s.size += int64(len(line)) + 1
		data = rest
	}
}

func checksum(text []byte) string {
	return strconv.FormatUint(uint64(crc32.ChecksumIEEE(text)), 16)
}

func (s *state) note(e *entry) {
	if e.Epoch != 0 {
		s.epoch = e.Epoch
	}
	maps.Copy(s.at, e.At)
	if e.Cut != nil {
		s.open, s.number = e.Cut, e.Cut.Number
		for i := range e.Cut.Parts {
			s.at[e.Cut.Parts[i].ID] = e.Cut.Parts[i].To
		}
	}
	if e.Acknowledged != 0 {
		s.open, s.number, s.log, s.metric = nil, e.Acknowledged, e.Log, e.Metric
	}
	s.done = s.done || e.Done
}

func (s *state) write(e entry, sync bool) error { //nolint:revive // flag-parameter: whether it must be on the disk
	text, err := json.Marshal(e)
	if err != nil {
		return err
	}
	line := append([]byte(checksum(text)+" "), text...)
	line = append(line, '\n')
	if _, err = s.file.WriteAt(line, s.size); err == nil && sync {
		err = s.file.Sync()
	}
	if err != nil {
		return fmt.Errorf("note what is published: %w", err)
	}
	s.size += int64(len(line))
	s.note(&e)
	return nil
}

// next is a cut without parts.
func (s *state) next(now time.Time) *cut {
	return &cut{Number: s.number + 1, TimeNs: now.UnixNano(), Log: s.log, Metric: s.metric}
}

func (s *state) cut(c *cut) error { return s.write(entry{Cut: c}, true) }

// acknowledge notes that the cut is in the stream. It is not forced to the disk: forgotten, the cut is published once more,
// and known to be a repetition by its ids.
func (s *state) acknowledge(c *cut, log, metric uint64) error {
	e := entry{Acknowledged: c.Number, Log: log, Metric: metric}
	if s.size < mostState {
		return s.write(e, false)
	}
	s.note(&e)
	return s.anew()
}

// anew has the present state alone in the file.
func (s *state) anew() error {
	fresh, err := os.CreateTemp(filepath.Dir(s.path), filepath.Base(s.path)+".new-")
	if err != nil {
		return err
	}
	if err = syscall.Flock(int(fresh.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil { //nolint:gosec // small
		return errors.Join(err, fresh.Close())
	}
	old := s.file
	s.file, s.size = fresh, 0
	err = s.write(entry{Epoch: s.epoch, Acknowledged: s.number, Log: s.log, Metric: s.metric, At: s.at}, true)
	if err == nil {
		err = errors.Join(os.Rename(fresh.Name(), s.path), durable.SyncFolder(filepath.Dir(s.path)))
	}
	return errors.Join(err, durable.Unlock(old))
}

// finish notes that nothing more will come.
func (s *state) finish() error { return s.write(entry{Done: true}, true) }

func (s *state) close() error {
	if s == nil {
		return nil
	}
	return durable.Unlock(s.file)
}

// Done says whether all is published that will be, by the state at that path.
func Done(path string) bool {
	s := state{path: path, at: map[string]int64{}}
	file, err := os.Open(path) //nolint:gosec // named by the caller
	if err != nil {
		return false
	}
	defer file.Close() //nolint:errcheck // only read
	s.file = file
	return s.load() == nil && s.done
}
