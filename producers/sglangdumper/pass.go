package sglangdumper

import (
	"context"

	"github.com/tensortap/tensortap/producers/internal/saved"
)

// pass is one reading of the files of a dump.
type pass struct {
	dump   *Dump
	source *saved.Source
	calls  *calls
	step   *saved.Step
}

// rows hands over the values of the dump's files.
func (d *Dump) rows(ctx context.Context, source *saved.Source, step *saved.Step) error {
	p := &pass{dump: d, source: source, calls: newCalls(), step: step}
	for i := range d.files {
		if i > 0 && d.files[i].index == d.files[i-1].index {
			source.Problem(d.files[i].Name + ": another file has the same dump_index, so their order is not known")
		}
		if err := p.file(ctx, &d.files[i]); err != nil {
			return err
		}
	}
	return p.finish()
}

// file turns one value into rows.
func (p *pass) file(ctx context.Context, f *file) error {
	at := placeOf(f)
	of, fresh := p.calls.next(at)
	if fresh {
		if err := p.step.Op(&of.op); err != nil {
			return err
		}
	}
	return p.source.File(ctx, f.File, p.step, func(value any) (func() error, error) {
		c := contentOf(value)
		values, err := saved.Measure(ctx, c.value, at.role, at.path, c.text("dims"))
		return func() error {
			p.tell(at, values)
			return p.step.Add(of.op.OpID, values, f.File)
		}, err
	})
}

// tell reads the tokens and requests of the step from well-known values.
func (p *pass) tell(at place, values []saved.Value) {
	if at.hooked || len(values) != 1 || values[0].Tensor == nil {
		return
	}
	count := uint64(values[0].Tensor.Count) //nolint:gosec // never negative
	switch {
	case at.op == "input_ids" && p.step.Row.TokenCount == nil:
		p.step.Row.TokenCount = &count
	case at.op == "seq_lens" && p.step.Row.RequestCount == nil:
		requests := uint32(count) //nolint:gosec // no step serves that many
		p.step.Row.RequestCount = &requests
	}
}

// finish writes the rows that need the whole step.
func (p *pass) finish() error {
	p.calls.end(0)
	program := make([]saved.Call, len(p.calls.done))
	for i, c := range p.calls.done {
		program[i] = saved.Call{Op: c.op.OpID, Parent: c.parent}
	}
	return p.step.End(program)
}
