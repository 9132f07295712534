// Package saved makes the rows of a step of values that a program has saved in files, for every producer of such files.
package saved

import (
	"context"
	"slices"
	"strings"

	"github.com/tensortap/tensortap/internal/payload"
	"github.com/tensortap/tensortap/internal/torchfile"
	"github.com/tensortap/tensortap/producers/internal/batch"
	"github.com/tensortap/tensortap/schemas"
)

// Value is a part of a saved value, a tensor or another, with the statistics of its elements.
type Value struct {
	leaf

	Tensor     *torchfile.Tensor // nil when it is none
	site       schemas.SiteRow
	statistics payload.Statistics
	isWhole    bool // the file holds this tensor and no other value
}

// Measure takes a saved value apart and measures all of it. Its place within the op is the role and the path; dims is the
// notation of its axes.
func Measure(ctx context.Context, value any, role, path, dims string) ([]Value, error) {
	all := leaves{dims: dims}
	if err := all.add(path, value); err != nil {
		return nil, err
	}
	_, isTensor := value.(*torchfile.Tensor)
	values := make([]Value, len(all.list))
	for i, one := range all.list {
		values[i] = Value{leaf: one, Tensor: one.tensor, site: schemas.SiteRow{Role: role, Path: one.path}, isWhole: isTensor}
		if one.tensor == nil {
			continue
		}
		var err error
		if values[i].statistics, err = payload.Measure(ctx, one.tensor); err != nil {
			return nil, err
		}
	}
	return values, nil
}

// Call is an op of the program of a step.
type Call struct{ Op, Parent uint64 }

// Step gathers the rows of a step of a rank. It is not safe for use by several goroutines.
type Step struct {
	Row     schemas.StepRow
	out     *batch.Set
	known   map[uint64]bool // layouts and sites that were handed over
	reasons []string
}

// Begin hands the rank's row over. Of the step's row only what the source knows is given.
func Begin(out *batch.Set, rank *schemas.RankRow, row schemas.StepRow) (*Step, error) {
	row.RunID, row.Rank, row.Epoch, row.Complete = out.ID.RunID, out.ID.Rank, out.ID.Epoch, 1
	return &Step{Row: row, out: out, known: map[uint64]bool{}}, batch.Add(out, out.Rank, rank, 0)
}

// Op hands an op over.
func (s *Step) Op(op *schemas.OpRow) error { return batch.Add(s.out, s.out.Op, op, 2*len(op.Name)) }

// Lose counts a file that cannot be read.
func (s *Step) Lose(reason string) {
	s.Row.DroppedCount++
	if !slices.Contains(s.reasons, reason) {
		s.reasons = append(s.reasons, reason)
	}
}

// Add hands over the values of an op that lie in a file.
func (s *Step) Add(op uint64, values []Value, in File) error {
	for i := range values {
		if err := s.add(op, &values[i], in); err != nil {
			return err
		}
	}
	return nil
}

func (s *Step) add(op uint64, v *Value, in File) error {
	v.site.OpID, v.site.SiteID = op, schemas.SiteID(op, v.site.Role, v.site.Path)
	v.layout.LayoutID = schemas.LayoutID(&v.layout)
	if err := define(s, s.out.Site, v.site.SiteID, &v.site, len(v.site.Path)); err != nil {
		return err
	}
	if err := define(s, s.out.Layout, v.layout.LayoutID, &v.layout, len(v.layout.Literal)+len(v.layout.Placement)); err != nil {
		return err
	}
	tensor := s.tensorRow(v)
	s.Row.TensorCount++
	if v.isWhole {
		if err := s.payload(&tensor, in); err != nil {
			return err
		}
	}
	return s.out.AddTensor(&tensor)
}

// define hands a definition over when it is met for the first time.
func define[R any, P schemas.Row[R]](s *Step, b *batch.Batch[R, P], id uint64, definition *R, text int) error {
	if s.known[id] {
		return nil
	}
	s.known[id] = true
	return batch.Add(s.out, b, definition, text)
}

func (s *Step) tensorRow(v *Value) schemas.TensorRow {
	t := schemas.TensorRow{
		RunID: s.Row.RunID, Rank: s.Row.Rank, Epoch: s.Row.Epoch, EventTimeNs: s.Row.EventTimeNs,
		Step: s.Row.Step, Seq: s.Row.TensorCount, SiteID: v.site.SiteID, LayoutID: v.layout.LayoutID,
	}
	if v.Tensor != nil {
		fill(&t, &v.statistics)
	} else if !v.isText {
		t.Measured = schemas.MeasuredMin | schemas.MeasuredMax | schemas.MeasuredMean
		t.ValueMin, t.ValueMax, t.ValueMean = v.number, v.number, v.number
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
func (s *Step) payload(t *schemas.TensorRow, in File) error {
	size := uint64(in.Size) //nolint:gosec // never negative
	return s.out.AddPayload(&schemas.PayloadRow{
		RunID: t.RunID, Rank: t.Rank, Epoch: t.Epoch, EventTimeNs: t.EventTimeNs, Step: t.Step, Seq: t.Seq,
		SiteID: t.SiteID, Location: in.Name, SizeBytes: &size, Digest: t.Digest, DigestKind: t.DigestKind,
	})
}

// End hands over the rows that need the whole step, and all that is left: the program, and the step.
func (s *Step) End(program []Call) error {
	var hasher schemas.ProgramHasher
	for _, c := range program {
		hasher.Add(c.Op, c.Parent)
	}
	for i, c := range program {
		at := schemas.ProgramRow{ProgramID: hasher.ID(), Position: uint32(i), OpID: c.Op, ParentOpID: c.Parent} //nolint:gosec // fewer than files
		if err := batch.Add(s.out, s.out.Program, &at, 0); err != nil {
			return err
		}
	}
	s.Row.ProgramID, s.Row.OpCount, s.Row.DropReason = hasher.ID(), uint64(len(program)), strings.Join(s.reasons, "; ")
	if err := batch.Add(s.out, s.out.Step, &s.Row, 0); err != nil {
		return err
	}
	return s.out.Rest()
}
