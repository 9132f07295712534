package parquet

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"os"
	"strconv"
	"sync"

	"github.com/tensortap/tensortap/internal/durable"
	"github.com/tensortap/tensortap/schemas"
)

// entry is a line of the manifest: a file that belongs to the archive or, when Lost is set, a file
// that no longer does. When Deleted is set it is a run whose files up to that number no longer do: of all kinds that go with a
// run or, where it names one, of that kind.
type entry struct {
	File    string      `json:"file"` // relative to the folder of the archive, with slashes
	Lost    string      `json:"lost,omitempty"`
	Deleted uint64      `json:"deleted_up_to,omitempty"`
	Kind    string      `json:"kind"`
	Run     id          `json:"run"`
	Rows    int64       `json:"rows"`
	Size    int64       `json:"size_bytes"`
	Footer  uint32      `json:"footer_bytes"`
	Hash    id          `json:"xxh3"` // of the whole file
	Batches []entrySpan `json:"batches"`
}

type entrySpan struct {
	Rank  uint32 `json:"rank"`
	Epoch id     `json:"epoch"`
	First uint64 `json:"first"`
	Last  uint64 `json:"last"`
}

// id is a 64-bit number that JSON carries as 16 hex digits, since many readers round large numbers.
type id uint64

// MarshalText implements encoding.TextMarshaler.
func (i id) MarshalText() ([]byte, error) { return []byte(schemas.FormatID(uint64(i))), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (i *id) UnmarshalText(text []byte) error {
	n, err := schemas.ParseID(string(text))
	*i = id(n)
	return err
}

// deletes says whether a line about a deleted run is about batches of that kind and run.
func (e entry) deletes(kind string, run uint64) bool {
	return run == uint64(e.Run) && schemas.OfRun(kind) && (e.Kind == "" || e.Kind == kind)
}

func (e entry) spans() []schemas.Batches {
	spans := make([]schemas.Batches, len(e.Batches))
	for i, b := range e.Batches {
		spans[i] = schemas.Batches{Kind: e.Kind, RunID: uint64(e.Run), Rank: b.Rank, Epoch: uint64(b.Epoch), First: b.First, Last: b.Last}
	}
	return spans
}

func entrySpans(spans []schemas.Batches) []entrySpan {
	out := make([]entrySpan, len(spans))
	for i, s := range spans {
		out[i] = entrySpan{Rank: s.Rank, Epoch: id(s.Epoch), First: s.First, Last: s.Last}
	}
	return out
}

// line is the entry as it stands in the manifest: CRC-32C of the JSON, the JSON.
func (e entry) line() ([]byte, error) {
	text, err := json.Marshal(e)
	if err != nil {
		return nil, fmt.Errorf("encode manifest line of %s: %w", e.File, err)
	}
	return fmt.Appendf(nil, "%08x %s\n", lineSum(text), text), nil
}

func lineSum(text []byte) uint32 { return crc32.Checksum(text, crc32.MakeTable(crc32.Castagnoli)) }

func parseLine(line []byte) (entry, error) {
	sum, text, _ := bytes.Cut(line, []byte(" "))
	want, err := strconv.ParseUint(string(sum), 16, 32)
	if err != nil || lineSum(text) != uint32(want) {
		return entry{}, errors.New("checksum of manifest line does not fit")
	}
	var e entry
	if err := json.Unmarshal(text, &e); err != nil {
		return entry{}, fmt.Errorf("decode manifest line: %w", err)
	}
	return e, nil
}

// manifest lists the files of the archive. Lines are only ever added; as an archive opens, those without effect go (compact).
type manifest struct {
	mu   sync.Mutex
	file *durable.File
	size int64 // of the lines that are known to be whole
	torn bool  // there may be bytes behind size
}

// openManifest opens the manifest for reading and adding.
func openManifest(disk durable.Disk, path string) (*manifest, error) {
	f, err := disk.OpenFile(path, os.O_RDWR|os.O_CREATE)
	if err != nil {
		return nil, fmt.Errorf("open manifest: %w", err)
	}
	m := &manifest{file: f, torn: true}
	if err := m.load(); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return m, nil
}

// load finds the end of the last whole line. The rest is an append that a crash cut short, without
// effect.
func (m *manifest) load() error {
	text, err := io.ReadAll(io.NewSectionReader(m.file, 0, math.MaxInt64))
	if err != nil {
		return fmt.Errorf("read manifest: %w", err)
	}
	m.size = int64(bytes.LastIndexByte(text, '\n') + 1)
	return nil
}

// read returns all whole lines, and the number of damaged ones.
func (m *manifest) read() (entries []entry, damaged int, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	text := make([]byte, m.size)
	if _, err := io.ReadFull(io.NewSectionReader(m.file, 0, m.size), text); err != nil {
		return nil, 0, fmt.Errorf("read manifest: %w", err)
	}
	entries, damaged = parseLines(text)
	return entries, damaged, nil
}

func parseLines(text []byte) (entries []entry, damaged int) {
	for line := range bytes.Lines(text) {
		e, err := parseLine(bytes.TrimSuffix(line, []byte("\n")))
		if err != nil {
			damaged++
			continue
		}
		entries = append(entries, e)
	}
	return entries, damaged
}

// add appends lines and returns when they are durable. After an error none of them counts.
func (m *manifest) add(entries ...entry) error {
	var text []byte
	for _, e := range entries {
		line, err := e.line()
		if err != nil {
			return err
		}
		text = append(text, line...)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.cut(); err != nil {
		return err
	}
	m.torn = true
	_, err := m.file.WriteAt(text, m.size)
	if err == nil {
		err = m.file.Sync()
	}
	if err != nil {
		return errors.Join(fmt.Errorf("append %d bytes to manifest: %w", len(text), err), m.cut())
	}
	m.torn = false
	m.size += int64(len(text))
	return nil
}

// cut removes the rest of an append that failed.
func (m *manifest) cut() error {
	if !m.torn {
		return nil
	}
	if err := m.file.Truncate(m.size); err != nil {
		return fmt.Errorf("cut manifest to %d bytes: %w", m.size, err)
	}
	m.torn = false
	return nil
}

func (m *manifest) close() error { return m.file.Close() }
