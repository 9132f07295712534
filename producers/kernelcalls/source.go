package kernelcalls

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/zeebo/xxh3"

	"github.com/tensortap/tensortap/producers"
	"github.com/tensortap/tensortap/producers/internal/batch"
	"github.com/tensortap/tensortap/producers/internal/content"
	"github.com/tensortap/tensortap/producers/internal/lines"
	"github.com/tensortap/tensortap/producers/internal/tally"
	"github.com/tensortap/tensortap/schemas"
)

const (
	mostMessage = 8 << 10
	prefix      = "Kernel." // of the names of ops
)

// source is the calls of one process.
type source struct {
	content.Content
	log *log
}

func (l *log) source(rank int, run string, progress func(int64)) *source {
	s := &source{log: l}
	s.Content = content.Content{
		Run: run, Rank: uint32(rank), EventTimeNs: l.modTimeNs, Bytes: l.bytes, Progress: progress, Read: s.read, //nolint:gosec // fewer than files
	}
	return s
}

// open hashes the files, which must not change until they are read.
func (l *log) open(rank int, run string, progress func(int64)) (producers.Source, error) {
	hasher := xxh3.New()
	_, _ = hasher.Write(binary.LittleEndian.AppendUint64(nil, uint64(l.processes[rank]))) //nolint:gosec // its bits
	for _, f := range l.files {
		if err := f.hash(hasher); err != nil {
			return producers.Source{}, fmt.Errorf("open %s: %w", f.path, err)
		}
	}
	return l.source(rank, run, progress).Opened(hasher.Sum64(), 0), nil
}

// hash adds a file: of which call it is, what is taken from the tensors beside it, its size, and its content.
func (f file) hash(hasher *xxh3.Hasher) error {
	if f.began != "" {
		var saved entry
		saved.describe(filepath.Dir(f.path))
		_, _ = fmt.Fprint(hasher, filepath.Base(filepath.Dir(f.path)), saved.Details) // a map is printed in the order of its keys
	}
	_, _ = hasher.Write(binary.LittleEndian.AppendUint64([]byte{0}, uint64(f.size))) //nolint:gosec // never negative
	return content.Hash(hasher, f.path, f.size)
}

func (s *source) read(ctx context.Context, out *batch.Set) error {
	pid := s.log.processes[s.Rank]
	begun, err := tally.Begin(out, schemas.RankRow{PID: &pid, SourceName: "proc" + strconv.FormatInt(pid, 10)},
		schemas.StepRow{EventTimeNs: s.EventTimeNs, Generation: s.Generation})
	if err == nil {
		p := &pass{source: s, tally: begun, open: map[key]*call{}}
		err = p.run(ctx)
	}
	if err != nil {
		return fmt.Errorf("read the calls of process %d in %s: %w", pid, s.log.path, err)
	}
	return nil
}

// key is what a call's begin and end have in common.
type key struct {
	function, folder string
	sequence         uint64
}

// call is one whose end has not been read.
type call struct {
	*entry
	seq uint64
}

// pass is one reading of the calls of a process.
type pass struct {
	source *source
	tally  *tally.Tally
	open   map[key]*call
	seq    uint64
}

func (p *pass) run(ctx context.Context) error {
	err := p.source.log.each(func(f file, e *entry) error {
		if err := context.Cause(ctx); err != nil || e.Process != p.source.log.processes[p.source.Rank] {
			return err
		}
		if f.began != "" {
			e.describe(filepath.Dir(f.path))
		}
		return p.take(e)
	}, p.lose)
	if err != nil {
		return err
	}
	for _, c := range p.neverEnded() {
		if err := p.add(c.entry, c.seq); err != nil {
			return err
		}
	}
	if p.source.Rank == 0 {
		for _, text := range p.source.log.problems {
			p.source.Problems.Add(text)
		}
	}
	p.source.Tell(p.source.log.bytes)
	return p.tally.End()
}

// take notes that a call begins, or counts one that is over.
func (p *pass) take(e *entry) error {
	at := key{e.Function, e.Folder, e.Sequence}
	if e.Status == begun {
		p.seq++
		if e.Sequence == 0 && e.Folder == "" { // the file is of this call alone
			at.sequence = p.seq
		}
		p.open[at] = &call{e, p.seq}
		return nil
	}
	seq := p.seq + 1
	if before := p.open[at]; before != nil {
		seq = before.seq
		delete(p.open, at)
	} else {
		p.seq++
	}
	return p.add(e, seq)
}

func (p *pass) neverEnded() []*call {
	var calls []*call
	for _, c := range p.open {
		calls = append(calls, c)
	}
	slices.SortFunc(calls, func(a, b *call) int { return cmp.Compare(a.seq, b.seq) })
	return calls
}

// add counts a call with what became of it.
func (p *pass) add(e *entry, seq uint64) error {
	c := tally.Call{Op: prefix + e.Function, Seq: seq}
	c.Signature = schemas.SignatureRow{OpName: e.Function, Inputs: e.inputs(), Outputs: e.outputs()}
	switch {
	case e.Status == begun:
		c.Type, c.Message = "never ended", e.lastWords()
		c.Signature.Outputs = []string{c.Type}
	case e.Status == raised || e.Raised != nil:
		c.Type = "unknown error"
		if e.Raised != nil {
			c.Type, c.Message = cmp.Or(e.Raised.Type, c.Type), e.Raised.Message[:min(len(e.Raised.Message), mostMessage)]
		}
		c.Signature.Outputs = []string{"raised " + c.Type}
	}
	c.Message = strings.ToValidUTF8(c.Message, "?")
	c.Signature.SignatureID = schemas.SignatureID(&c.Signature)
	return p.tally.Add(&c)
}

// lastWords says what is known of a call whose end is not on file.
func (e *entry) lastWords() string {
	text := "the call began"
	if at, err := time.Parse("20060102_150405", strings.TrimSuffix(e.Began, e.Began[max(0, len(e.Began)-4):])); err == nil {
		text += at.Format(" at 2006-01-02 15:04:05") + " by its host's clock"
	}
	text += ", and its end is not on file: the process died in it, or just after it"
	if e.Folder != "" {
		text += "; its inputs are in " + e.Folder
	}
	return text
}

func (p *pass) lose(f file, text []byte, why error) {
	if p.source.Rank != 0 { // nobody knows whose it is
		return
	}
	p.source.Problems.Add(fmt.Sprintf("%s: %s cannot be read: %v", f.path, lines.Quote(text), why))
	p.tally.Drop(1, "unreadable line")
}
