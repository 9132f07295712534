package sglangshapes

import (
	"context"
	"fmt"
	"io"

	"github.com/tensortap/tensortap/producers/internal/batch"
	"github.com/tensortap/tensortap/producers/internal/lines"
	"github.com/tensortap/tensortap/producers/internal/tally"
	"github.com/tensortap/tensortap/schemas"
)

const (
	reasonUnreadable = "unreadable line"
	reasonMissing    = "missing in the log, by its summary"
	mostKnown        = 32 << 20 // bytes of texts whose facts are kept
)

// pass is one reading of a step.
type pass struct {
	source *source
	tally  *tally.Tally
	known  map[string]*facts
	texts  int   // bytes of known
	done   int64 // bytes of the step
}

func newPass(s *source, out *batch.Set) (*pass, error) {
	begun, err := tally.Begin(out, schemas.RankRow{}, schemas.StepRow{
		EventTimeNs: s.EventTimeNs, Step: s.step.number, Generation: s.Generation,
	})
	return &pass{source: s, tally: begun, known: map[string]*facts{}}, err
}

func (p *pass) run(ctx context.Context) error {
	err := eachSpan(p.source.log, p.source.step, func(part io.Reader, at span) error {
		return lines.Each(part, at.from, func(l lines.Line) error {
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
func (p *pass) line(l lines.Line) error {
	p.progress(int64(len(l.Text)) + 1)
	r, f := p.read(l)
	if f.err != nil {
		p.lose(l, f.err)
		return nil //nolint:nilerr // it is counted, and the others count
	}
	call := f.call
	call.Seq = r.call
	return p.tally.Add(&call)
}

func (p *pass) read(l lines.Line) (record, *facts) {
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

func (p *pass) lose(l lines.Line, cause error) {
	why := "is damaged"
	if !l.Whole {
		why = "is cut off"
	}
	p.source.Problems.Add(fmt.Sprintf("%s: the line at byte %d %s, %s: %v", p.source.log.path, l.From, why, lines.Quote(l.Text), cause))
	p.tally.Drop(1, reasonUnreadable)
}

func (p *pass) progress(bytes int64) {
	p.done += bytes
	p.source.Tell(p.done)
}

// finish tells, at the end of the log, of what is wrong with the whole.
func (p *pass) finish() error {
	if p.source.step.last {
		for _, text := range p.source.log.problems {
			p.source.Problems.Add(text)
		}
		if missing := p.source.log.missing(); missing > 0 {
			p.tally.Drop(missing, reasonMissing)
		}
	}
	return p.tally.End()
}
