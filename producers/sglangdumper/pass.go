package sglangdumper

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tensortap/tensortap/internal/payload"
	"github.com/tensortap/tensortap/internal/torchfile"
	"github.com/tensortap/tensortap/producers/internal/batch"
	"github.com/tensortap/tensortap/schemas"
)

// pass is one reading of the files of a dump.
type pass struct {
	source  *Source
	out     *batch.Set
	calls   *calls
	known   map[uint64]bool // layouts and sites that were handed over
	step    schemas.StepRow
	reasons []string
	read    int64
}

func (p *pass) run(ctx context.Context) error {
	rank := p.source.dump.rankRow(p.out.ID)
	if err := batch.Add(p.out, p.out.Rank, &rank, 0); err != nil {
		return err
	}
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
		if err := batch.Add(p.out, p.out.Op, &of.op, 2*len(of.op.Name)); err != nil {
			return err
		}
	}
	if err := p.unchanged(f); err != nil {
		return err
	}
	var failed error // of handing rows over
	err := f.read(p.source.dump.Dir, func(c content) error {
		rows, err := measured(ctx, at, c)
		if err == nil {
			p.tell(at, rows)
			failed = p.rows(of.op.OpID, f, rows)
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
	const reason = "unreadable file"
	p.source.problems.Add(problem)
	p.step.DroppedCount++
	if !slices.Contains(p.reasons, reason) {
		p.reasons = append(p.reasons, reason)
	}
}

func (p *pass) progress(bytes int64) {
	p.read += bytes
	if p.source.progress != nil {
		p.source.progress(min(p.read, p.source.bytes))
	}
}

// row is a leaf with the statistics of its elements.
type row struct {
	leaf
	site       schemas.SiteRow
	statistics payload.Statistics
	isWhole    bool // the file holds this tensor and no other value
}

// measured reads all of a value before it hands over any row of it.
func measured(ctx context.Context, at place, c content) ([]row, error) {
	all := leaves{dims: c.text("dims")}
	if err := all.add(at.path, c.value); err != nil {
		return nil, err
	}
	rows := make([]row, len(all.list))
	for i, one := range all.list {
		rows[i] = row{leaf: one, site: schemas.SiteRow{Role: at.role, Path: one.path}}
		if one.tensor == nil {
			continue
		}
		var err error
		if rows[i].statistics, err = payload.Measure(ctx, one.tensor); err != nil {
			return nil, err
		}
		_, rows[i].isWhole = c.value.(*torchfile.Tensor)
	}
	return rows, nil
}

// tell reads the tokens and requests of the step from well-known values.
func (p *pass) tell(at place, rows []row) {
	if at.hooked || len(rows) != 1 || rows[0].tensor == nil {
		return
	}
	count := uint64(rows[0].tensor.Count) //nolint:gosec // never negative
	switch {
	case at.op == "input_ids" && p.step.TokenCount == nil:
		p.step.TokenCount = &count
	case at.op == "seq_lens" && p.step.RequestCount == nil:
		requests := uint32(count) //nolint:gosec // no step serves that many
		p.step.RequestCount = &requests
	}
}

func (p *pass) rows(op uint64, f file, rows []row) error {
	for i := range rows {
		if err := p.row(op, f, &rows[i]); err != nil {
			return err
		}
	}
	return nil
}

func (p *pass) row(op uint64, f file, r *row) error {
	r.site.OpID, r.site.SiteID = op, schemas.SiteID(op, r.site.Role, r.site.Path)
	r.layout.LayoutID = schemas.LayoutID(&r.layout)
	if err := define(p, p.out.Site, r.site.SiteID, &r.site, len(r.site.Path)); err != nil {
		return err
	}
	if err := define(p, p.out.Layout, r.layout.LayoutID, &r.layout, len(r.layout.Literal)+len(r.layout.Placement)); err != nil {
		return err
	}
	tensor := p.tensorRow(r)
	p.step.TensorCount++
	if r.isWhole {
		if err := p.payload(&tensor, f); err != nil {
			return err
		}
	}
	return p.out.AddTensor(&tensor)
}

// define hands a definition over when it is met for the first time.
func define[R any, P schemas.Row[R]](p *pass, b *batch.Batch[R, P], id uint64, definition *R, text int) error {
	if p.known[id] {
		return nil
	}
	p.known[id] = true
	return batch.Add(p.out, b, definition, text)
}

func (p *pass) tensorRow(r *row) schemas.TensorRow {
	id := p.out.ID
	t := schemas.TensorRow{
		RunID: id.RunID, Rank: id.Rank, Epoch: id.Epoch, EventTimeNs: p.source.eventTimeNs,
		Step: p.source.dump.Step, Seq: p.step.TensorCount, SiteID: r.site.SiteID, LayoutID: r.layout.LayoutID,
	}
	if r.tensor != nil {
		fill(&t, &r.statistics)
	} else if !r.isText {
		t.Measured = schemas.MeasuredMin | schemas.MeasuredMax | schemas.MeasuredMean
		t.ValueMin, t.ValueMax, t.ValueMean = r.number, r.number, r.number
	}
	return t
}

// Statistics of any tensor, and statistics of finite elements.
const (
	counts  = schemas.MeasuredNaN | schemas.MeasuredPositiveInfinity | schemas.MeasuredNegativeInfinity | schemas.MeasuredZero | schemas.MeasuredSubnormal
	moments = schemas.MeasuredMin | schemas.MeasuredMax | schemas.MeasuredMean | schemas.MeasuredM2 | schemas.MeasuredL2 | schemas.MeasuredL1
)

func fill(t *schemas.TensorRow, s *payload.Statistics) {
	t.Measured, t.ElementCount, t.Digest, t.DigestKind = counts, s.Count, s.Digest, schemas.DigestTap
	t.NaNCount, t.PositiveInfinityCount, t.NegativeInfinityCount = s.NaN, s.PositiveInfinity, s.NegativeInfinity
	t.ZeroCount, t.SubnormalCount = s.Zero, s.Subnormal
	if s.Finite > 0 {
		t.Measured |= moments
		t.ValueMin, t.ValueMax, t.ValueMean = s.Min, s.Max, s.Mean
		t.ValueM2, t.ValueL1, t.ValueL2 = s.M2, s.L1, s.L2()
	}
}

// payload says where the tensor lies, which no other file of its folder is named like.
func (p *pass) payload(t *schemas.TensorRow, f file) error {
	size := uint64(f.size) //nolint:gosec // never negative
	return p.out.AddPayload(&schemas.PayloadRow{
		RunID: t.RunID, Rank: t.Rank, Epoch: t.Epoch, EventTimeNs: t.EventTimeNs, Step: t.Step, Seq: t.Seq,
		SiteID: t.SiteID, Location: f.name, SizeBytes: &size, Digest: t.Digest, DigestKind: t.DigestKind,
	})
}

// finish writes the rows that need the whole step: the program, and the step.
func (p *pass) finish() error {
	p.calls.end(0)
	var hasher schemas.ProgramHasher
	for _, c := range p.calls.done {
		hasher.Add(c.op.OpID, c.parent)
	}
	for i, c := range p.calls.done {
		at := schemas.ProgramRow{ProgramID: hasher.ID(), Position: uint32(i), OpID: c.op.OpID, ParentOpID: c.parent} //nolint:gosec // fewer than files
		if err := batch.Add(p.out, p.out.Program, &at, 0); err != nil {
			return err
		}
	}
	id := p.out.ID
	p.step.RunID, p.step.Rank, p.step.Epoch, p.step.EventTimeNs = id.RunID, id.Rank, id.Epoch, p.source.eventTimeNs
	p.step.ProgramID, p.step.OpCount, p.step.DropReason = hasher.ID(), uint64(len(p.calls.done)), strings.Join(p.reasons, "; ")
	if err := batch.Add(p.out, p.out.Step, &p.step, 0); err != nil {
		return err
	}
	return p.out.Rest()
}
