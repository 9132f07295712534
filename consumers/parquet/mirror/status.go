package mirror

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/tensortap/tensortap/consumers/parquet"
	"github.com/tensortap/tensortap/internal/durable"
)

// Status says how far a copy is.
type Status struct {
	Place        string    `json:"place"`          // address of the bucket
	NotedBytes   int64     `json:"manifest_bytes"` // of the archive's manifest: files that these list are in the bucket
	WaitingFiles uint64    `json:"waiting_files"`  // that are listed and not in the bucket yet
	WaitingBytes uint64    `json:"waiting_bytes"`
	BehindSince  time.Time `json:"behind_since"` // zero where nothing waits
	Failure      string    `json:"failure"`      // why the last try failed; empty where it did not

	Files    uint64 `json:"-"` // copied by this process
	Bytes    uint64 `json:"-"`
	Skipped  uint64 `json:"-"` // files that were damaged or gone when they were to be copied
	Failures uint64 `json:"-"` // tries that failed
}

// ReadStatus is what the file of a mirror's state says; false where there is none.
func ReadStatus(path string) (s Status, found bool, err error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return s, false, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &s)
	}
	if err != nil {
		return s, false, fmt.Errorf("read how far the copy of the archive is: %w", err)
	}
	return s, true, nil
}

// book keeps the status, and its file.
type book struct {
	path string

	mutex sync.Mutex
	now   Status
}

func (b *book) get() Status {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return b.now
}

// change may not write the file: who reads it is told something older then.
func (b *book) change(do func(*Status)) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	do(&b.now)
}

func (b *book) write() {
	s := b.get()
	if text, err := json.Marshal(s); err == nil {
		_ = durable.WriteFile(b.path, strings.NewReader(string(text)))
	}
}

func (b *book) waiting(now time.Time, files []parquet.File) {
	b.change(func(s *Status) {
		s.WaitingFiles, s.WaitingBytes = uint64(len(files)), 0
		for _, f := range files {
			s.WaitingBytes += uint64(f.Bytes) //nolint:gosec // a size
		}
		if s.BehindSince.IsZero() {
			s.BehindSince = now
		}
	})
}

// arrived takes a file off those that wait.
func (b *book) arrived(f parquet.File) {
	b.change(func(s *Status) {
		s.WaitingFiles--
		s.WaitingBytes -= uint64(f.Bytes) //nolint:gosec // a size
	})
}

// copied does so for a file that this process has copied.
func (b *book) copied(f parquet.File) {
	b.arrived(f)
	b.change(func(s *Status) {
		s.Files++
		s.Bytes += uint64(f.Bytes) //nolint:gosec // a size
	})
}

func (b *book) skipped(f parquet.File) {
	b.arrived(f)
	b.change(func(s *Status) { s.Skipped++ })
}

func (b *book) noted(end int64) {
	b.change(func(s *Status) {
		s.NotedBytes, s.WaitingFiles, s.WaitingBytes, s.BehindSince = end, 0, 0, time.Time{}
	})
	b.write()
}

// failure notes how a round ended, and returns what the last one said.
func (b *book) failure(err error) (was string) {
	b.change(func(s *Status) {
		was, s.Failure = s.Failure, ""
		if err != nil {
			s.Failure = err.Error()
			s.Failures++
		}
	})
	if err != nil || was != "" {
		b.write()
	}
	return was
}
