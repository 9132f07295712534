package sglangshapes

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/tensortap/tensortap/producers"
	"github.com/tensortap/tensortap/producers/internal/batch"
	"github.com/tensortap/tensortap/schemas"
)

const (
	reasonUnreadable = "unreadable line"
	reasonMissing    = "missing in the log, by its summary"
	mostKnown        = 32 << 20 // bytes of texts whose signature is kept
	mostProblems     = 100
	ownPrefix        = "Aten." // of the names of ATen ops that are recorded by themselves
)

// pass is one reading of a step.
type pass struct {
	source   *source
	out      *batch.Set
	known    map[string]*facts
	texts    int               // bytes of known
	counts   map[uint64]uint64 // calls of each signature
	order    []uint64          // of first calls
	row      schemas.StepRow
	problems producers.Problems
	done     int64 // bytes
}

func newPass(s *source, out *batch.Set) *pass {
	p := &pass{source: s, out: out, known: map[string]*facts{}, counts: map[uint64]uint64{}}
	id := out.ID
	p.row = schemas.StepRow{
		RunID: id.RunID, Rank: id.Rank, Epoch: id.Epoch, EventTimeNs: s.eventTimeNs,
		Step: s.step.number, Generation: s.generation, Complete: 1,
	}
	return p
}

func (p *pass) run(ctx context.Context) error {
	id := p.out.ID
	rank := schemas.RankRow{
		RunID: id.RunID, Rank: id.Rank, Epoch: id.Epoch,
		TP: -1, PP: -1, DP: -1, CP: -1, EP: -1, TPSize: -1, PPSize: -1, DPSize: -1, CPSize: -1, EPSize: -1,
	}
	if err := batch.Add(p.out, p.out.Rank, &rank, 0); err != nil {
		return err
	}
	err := eachSpan(p.source.log, p.source.step, func(part io.Reader, at span) error {
		return eachLine(part, at.from, func(l line) error {
			if err := context.Cause(ctx); err != nil {
				return err
			}
			return p.line(l)
		})
	})
	if err != nil {
		return err
	}
	return p.finish()
}

// line counts a call. One that cannot be read is lost, and counted.
func (p *pass) line(l line) error {
	p.progress(int64(len(l.text)) + 1)
	r, f := p.read(l)
	if f.err != nil {
		p.lose(l, f.err)
		return nil //nolint:nilerr // it is counted, and the others count
	}
	if p.counts[f.signature.SignatureID] == 0 {
		p.order = append(p.order, f.signature.SignatureID)
		if err := p.define(&f.signature); err != nil {
			return err
		}
	}
	p.counts[f.signature.SignatureID]++
	p.row.OpCount++
	if f.raised == "" {
		return nil
	}
	return p.fail(r, f)
}

func (p *pass) read(l line) (record, *facts) {
	r, err := parse(l)
	if err != nil {
		return r, &facts{err: err}
	}
	return r, p.factsOf(r.facts)
}

// factsOf reads a text that many calls share once.
func (p *pass) factsOf(text []byte) *facts {
	if f := p.known[string(text)]; f != nil {
		return f
	}
	f := read(text)
	if p.texts += len(text); p.texts > mostKnown {
		clear(p.known)
		p.texts = len(text)
	}
	p.known[string(text)] = &f
	return &f
}

func (p *pass) define(row *schemas.SignatureRow) error {
	text := len(row.OpName)
	for _, lines := range [][]string{row.Inputs, row.Outputs} {
		for _, line := range lines {
			text += len(line)
		}
	}
	return batch.Add(p.out, p.out.Signature, row, text)
}

// fail is an op that raised.
func (p *pass) fail(r record, f *facts) error {
	op := schemas.ParseOpName(ownPrefix + strings.TrimPrefix(f.signature.OpName, "aten."))
	if err := batch.Add(p.out, p.out.Op, &op, 2*len(op.Name)); err != nil {
		return err
	}
	id := p.out.ID
	return p.out.AddFailure(&schemas.FailureRow{
		RunID: id.RunID, Rank: id.Rank, Epoch: id.Epoch, EventTimeNs: p.source.eventTimeNs, Step: p.row.Step, Seq: r.call,
		OpID: op.OpID, Type: f.raised, Message: f.message, Inputs: strings.Join(f.signature.Inputs, "\n"),
	})
}

func (p *pass) lose(l line, cause error) {
	why := "is damaged"
	if !l.whole {
		why = "is cut off"
	}
	p.problem(fmt.Sprintf("%s: the line at byte %d %s, %s: %v", p.source.log.path, l.from, why, quote(l.text), cause))
	p.drop(1, reasonUnreadable)
}

func (p *pass) problem(text string) {
	p.problems.Count++
	if len(p.problems.First) < mostProblems {
		p.problems.First = append(p.problems.First, text)
	}
}

func (p *pass) drop(count uint64, reason string) {
	p.row.DroppedCount += count
	switch {
	case strings.Contains(p.row.DropReason, reason):
	case p.row.DropReason == "":
		p.row.DropReason = reason
	default:
		p.row.DropReason += "; " + reason
	}
}

func (p *pass) progress(bytes int64) {
	p.done += bytes
	if p.source.progress != nil {
		p.source.progress(min(p.done, p.source.step.bytes()))
	}
}

// finish writes the rows that need the whole step.
func (p *pass) finish() error {
	if p.source.step.last {
		for _, text := range p.source.log.problems {
			p.problem(text)
		}
		if missing := p.source.log.missing(); missing > 0 {
			p.drop(missing, reasonMissing)
		}
	}
	if err := p.tally(); err != nil {
		return err
	}
	if err := batch.Add(p.out, p.out.Step, &p.row, 0); err != nil {
		return err
	}
	return p.out.Rest()
}

// tally says how often each signature was called.
func (p *pass) tally() error {
	if len(p.order) == 0 {
		return nil
	}
	rows := make([]schemas.TallyRow, len(p.order))
	for i, id := range p.order {
		rows[i] = schemas.TallyRow{Position: uint32(i), SignatureID: id, CallCount: p.counts[id]} //nolint:gosec // fewer than lines
	}
	tally := schemas.TallyID(rows)
	for i := range rows {
		rows[i].TallyID = tally
		if err := batch.Add(p.out, p.out.Tally, &rows[i], 0); err != nil {
			return err
		}
	}
	id := p.out.ID
	return p.out.AddCall(&schemas.CallRow{
		RunID: id.RunID, Rank: id.Rank, Epoch: id.Epoch, EventTimeNs: p.source.eventTimeNs,
		Step: p.row.Step, TallyID: tally, CallCount: p.row.OpCount,
	})
}
