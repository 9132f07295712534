package follow

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/tensortap/tensortap/internal/durable"
	"github.com/tensortap/tensortap/producers/internal/batch"
	"github.com/tensortap/tensortap/producers/internal/lines"
	"github.com/tensortap/tensortap/schemas"
)

// RecordsPattern is what the collectors' files of records of Python's logging match, in the root of the spools.
const RecordsPattern = "*.logging"

const (
	basisRecord   = "record" // the time is the record's own
	streamRecords = "logging"
	mostLooked    = 64 << 10 // bytes at a time
)

// head is the first line of a file of records.
type head struct {
	Run     string `json:"run"`
	Rank    uint32 `json:"rank"`
	Host    string `json:"host"`
	PID     int64  `json:"pid"`
	Dropped uint64 `json:"dropped"` // before the file began, as too many files waited
	TimeNs  int64  `json:"time_ns"`
}

// record is any further one.
type record struct {
	TimeNs    int64             `json:"t"`
	Level     int               `json:"l"`
	Logger    string            `json:"n"`
	Text      string            `json:"m"`
	File      string            `json:"f"`
	Line      int               `json:"i"`
	Step      int64             `json:"s"`
	Op        string            `json:"o"`
	Request   string            `json:"r"`
	Exception string            `json:"x"`
	Fields    map[string]string `json:"e"`
	Kind      string            `json:"k"` // of a record that is none of logging
	Numbers   map[string]string `json:"v"` // of such a one
}

var errNoHead = errors.New("its first line is not there yet")

// Records completes the configuration for the records of a process's logging.
func Records(cfg Config, path string) (Config, error) { //nolint:gocritic // copied to be completed
	h, err := headOf(path)
	if err != nil {
		return cfg, err
	}
	cfg.State, cfg.RunID, cfg.Rank, cfg.Host = path+".published", schemas.RunID(h.Run), &h.Rank, h.Host
	cfg.Files = func() ([]File, bool, error) {
		ended := !IsWritten(path) // before the file is read
		return []File{{ID: filepath.Base(path), Path: path, Stream: streamRecords, PID: h.PID}}, ended, nil
	}
	return cfg, nil
}

// RunOfRecords is the run that a file of records is of; empty where that is not known.
func RunOfRecords(path string) string {
	h, err := headOf(path)
	if err != nil {
		return ""
	}
	return h.Run
}

func headOf(path string) (h head, err error) {
	input, err := os.Open(path) //nolint:gosec // in the root of the spools
	if err != nil {
		return h, err
	}
	defer input.Close() //nolint:errcheck // only read
	err = lines.Each(input, 0, func(l lines.Line) error {
		if !l.Whole {
			return errNoHead
		}
		if err := json.Unmarshal(l.Text, &h); err != nil {
			return err
		}
		return errFound
	})
	if errors.Is(err, errFound) {
		return h, nil
	}
	if err == nil {
		err = errNoHead
	}
	return h, fmt.Errorf("read %s: %w", path, err)
}

var errFound = errors.New("found")

// IsWritten says whether the process that writes the file lives.
func IsWritten(path string) bool {
	file, err := os.Open(path) //nolint:gosec // in the root of the spools
	if err != nil {
		return false
	}
	defer durable.Unlock(file)                                                                            //nolint:errcheck // only looked
	return errors.Is(syscall.Flock(int(file.Fd()), syscall.LOCK_SH|syscall.LOCK_NB), syscall.EWOULDBLOCK) //nolint:gosec // small
}

// written is where the records in a file end: bytes that are not written yet are zero, and no record has one.
func written(path string, from, size int64) (int64, error) {
	input, err := os.Open(path) //nolint:gosec // in the root of the spools
	if err != nil {
		return 0, err
	}
	defer input.Close() //nolint:errcheck // only read
	block := make([]byte, mostLooked)
	for at := from; at < size; {
		n, err := input.ReadAt(block, at)
		if end := bytes.IndexByte(block[:n], 0); end >= 0 {
			return at + int64(end), nil
		}
		at += int64(n)
		if errors.Is(err, io.EOF) {
			return at, nil
		}
		if err != nil {
			return 0, err
		}
	}
	return size, nil
}

// records hands over the rows of a part that has records.
func (p *part) records(out *batch.Set) error {
	text, why := p.text()
	if why != nil {
		return p.lost(out, fmt.Sprintf("%d bytes of records of logging are lost: %v", p.To-p.From, why))
	}
	return lines.Each(strings.NewReader(text), p.From, func(l lines.Line) error {
		if l.From == 0 {
			return p.head(out, l)
		}
		var r record
		if err := json.Unmarshal(l.Text, &r); err != nil {
			return p.lost(out, "a record of logging is damaged: "+lines.Quote(l.Text))
		}
		if r.Kind != "" {
			noted(&r)
		}
		row := p.row(out, uint64(l.From), &r) //nolint:gosec // never negative
		if err := batch.AddMeasured(out, out.Log, row, len(l.Text)); err != nil {
			return err
		}
		return p.numbers(out, row, &r)
	})
}

func (p *part) head(out *batch.Set, l lines.Line) error {
	var h head
	if err := json.Unmarshal(l.Text, &h); err != nil || h.Dropped == 0 {
		return nil //nolint:nilerr // it was read before
	}
	return p.lost(out, fmt.Sprintf("%d records of logging were dropped, as nobody had read those before", h.Dropped))
}

// lost is a row that says so.
func (p *part) lost(out *batch.Set, text string) error {
	r := record{TimeNs: p.TimeNs, Level: 30, Logger: "tensortap", Text: text, Step: -1}
	return batch.AddMeasured(out, out.Log, p.row(out, uint64(p.From), &r), len(text)) //nolint:gosec // never negative
}

func (p *part) row(out *batch.Set, seq uint64, r *record) *schemas.LogRow {
	id := out.ID
	row := &schemas.LogRow{
		RunID: id.RunID, Rank: id.Rank, Epoch: id.Epoch, EventTimeNs: r.TimeNs, Seq: seq, TimeBasis: basisRecord,
		PID: &p.PID, Role: p.Role, Stream: streamRecords, Host: p.Host, Level: levelOf(r.Level), Logger: r.Logger, Request: r.Request,
		Text: r.Text, Exception: r.Exception, Fields: r.Fields, Kind: r.Kind,
	}
	if r.Exception != "" {
		row.Kind = "traceback"
	}
	if step := uint32(max(r.Step, 0)); r.Step >= 0 { //nolint:gosec // of 32 bits
		row.Step = &step
	}
	if r.Op != "" {
		row.OpID = schemas.OpID(r.Op)
	}
	if r.File != "" {
		row.Fields = withPlace(r.Fields, fmt.Sprintf("%s:%d", r.File, r.Line))
	}
	return row
}

func withPlace(fields map[string]string, place string) map[string]string {
	if fields == nil {
		fields = map[string]string{}
	}
	if _, own := fields["source"]; !own {
		fields["source"] = place
	}
	return fields
}

// levelOf names a number of Python's.
func levelOf(number int) string {
	switch {
	case number >= 50:
		return "critical"
	case number >= 40:
		return "error"
	case number >= 30:
		return "warning"
	case number >= 20:
		return "info"
	}
	return "debug"
}
