package sglangdumper

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/tensortap/tensortap/producers/internal/saved"
)

// pass is one reading of the files of a dump.
type pass struct {
	source *Source
	calls  *calls
	step   *saved.Step
	read   int64
}

func (p *pass) run(ctx context.Context) error {
	for i, f := range p.source.dump.files {
		if i > 0 && f.index == p.source.dump.files[i-1].index {
			p.source.problems.Add(f.name + ": another file has the same dump_index, so their order is not known")
		}
		if err := p.file(ctx, f); err != nil {
			return err
		}
	}
	return p.finish()
}

// file turns one value into rows. An unreadable value is lost, and counted.
func (p *pass) file(ctx context.Context, f file) error {
	at := placeOf(f)
	of, fresh := p.calls.next(at)
	if fresh {
		if err := p.step.Op(&of.op); err != nil {
			return err
		}
	}
	if err := p.unchanged(f); err != nil {
		return err
	}
	var failed error // of handing rows over
	err := f.read(p.source.dump.Dir, func(c content) error {
		values, err := saved.Measure(ctx, c.value, at.role, at.path, c.text("dims"))
		if err == nil {
			p.tell(at, values)
			failed = p.step.Add(of.op.OpID, values, saved.File{Location: f.name, Size: f.size})
		}
		return err
	})
	if cause := errors.Join(failed, context.Cause(ctx)); cause != nil {
		return cause
	}
	if err != nil {
		p.lose(fmt.Sprintf("%s: %v", f.name, err))
	}
	p.progress(f.size)
	return nil
}

// unchanged says whether a file is still the file of the epoch.
func (p *pass) unchanged(f file) error {
	info, err := os.Stat(filepath.Join(p.source.dump.Dir, f.name))
	if err != nil {
		return err
	}
	if info.Size() != f.size || !info.ModTime().Equal(f.modTime) {
		return fmt.Errorf("%s changed while it was read", f.name)
	}
	return nil
}

func (p *pass) lose(problem string) {
	p.source.problems.Add(problem)
	p.step.Lose("unreadable file")
}

func (p *pass) progress(bytes int64) {
	p.read += bytes
	if p.source.progress != nil {
		p.source.progress(min(p.read, p.source.bytes))
	}
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
