package overflow

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/tensortap/tensortap/analysis/origin"
	"github.com/tensortap/tensortap/analysis/rows"
	"github.com/tensortap/tensortap/schemas"
)

// origins are the first tensors of the first step that has any, but for those that another rank's precedes.
func (j *job) origins(ctx context.Context, ranks []Rank) ([]Origin, error) {
	firsts := earliest(ranks)
	if len(firsts) == 0 {
		return nil, nil
	}
	seen, err := j.lookAround(ctx, firsts)
	if err != nil {
		return nil, err
	}
	events := make([]origin.Event, len(firsts))
	for i, rank := range firsts {
		events[i] = origin.Event{Rank: rank.Rank, Seq: rank.first.row.Seq}
	}
	left := origin.Unpreceded(events, seen.meetings)
	origins := make([]Origin, len(left))
	for i, k := range left {
		origins[i] = j.origin(firsts[k], seen.parameters[firsts[k].Rank])
		origins[i].Concurrent = len(left)
	}
	slices.SortStableFunc(origins, func(a, b Origin) int { return cmp.Compare(a.Seq, b.Seq) })
	return origins, nil
}

// earliest are the ranks whose first tensor is of the first step that has any.
func earliest(ranks []Rank) []*Rank {
	var firsts []*Rank
	for i := range ranks {
		r := &ranks[i]
		switch {
		case !r.first.found || len(firsts) > 0 && r.first.at.Step > firsts[0].first.at.Step:
		case len(firsts) > 0 && r.first.at.Step == firsts[0].first.at.Step:
			firsts = append(firsts, r)
		default:
			firsts = []*Rank{r}
		}
	}
	return firsts
}

// surroundings are what the step tells in which it began.
type surroundings struct {
	meetings   []origin.Meeting
	parameters map[uint32]string // of the module that called the first op of a rank, with the very values
}

// lookAround reads that step again: of all ranks, where several are concerned, since each may have seen what others did.
func (j *job) lookAround(ctx context.Context, firsts []*Rank) (surroundings, error) {
	seen := surroundings{parameters: map[uint32]string{}}
	of := map[uint32]*Rank{}
	for _, rank := range firsts {
		of[rank.Rank] = rank
	}
	room := origin.NewRoom(j.run, j.definitions)
	places := j.places(func(at rows.Place) bool {
		return at.Step == firsts[0].first.at.Step && (len(firsts) > 1 || of[at.Rank] != nil)
	})
	err := j.each(ctx, places, func(at rows.Place, tensors *rows.Tensors) {
		if len(firsts) > 1 {
			room.Add(at.Rank, tensors)
		}
		if rank := of[at.Rank]; rank != nil {
			seen.parameters[at.Rank] = j.parameterLike(&rank.first, tensors)
		}
	})
	seen.meetings = room.Meetings()
	return seen, err
}

// call is where the op of a row stands in the program of its step; zero, but for the op, where that is not known.
func (j *job) call(of *first) schemas.ProgramRow {
	op := j.definitions.Sites[of.row.SiteID].OpID
	if step := j.run.StepAt(of.at); step != nil {
		if call, found := j.definitions.Call(step.ProgramID, op); found {
			return call
		}
	}
	return schemas.ProgramRow{OpID: op}
}

// parameterLike is the parameter of the calling module that has the layout and the values of a row; empty for none.
func (j *job) parameterLike(of *first, tensors *rows.Tensors) string {
	caller := j.call(of).ParentOpID
	if caller == 0 {
		return ""
	}
	for i := range tensors.Len() {
		site := j.definitions.Sites[tensors.SiteID[i]]
		if site.OpID != caller || site.Role != "parameter" {
			continue
		}
		if row := tensors.At(i); valuesOf(&row) == valuesOf(&of.row) {
			return site.Path
		}
	}
	return ""
}

// values are the same for tensors of one layout and the same statistics.
type values [5]uint64

func valuesOf(o *rows.Observation) values {
	return values{o.LayoutID, bits(o.Min), bits(o.Max), bits(o.Mean), bits(o.L2)}
}

// bits are those of a number, the same of each NaN.
func bits(x float64) uint64 {
	if math.IsNaN(x) {
		x = math.NaN()
	}
	return math.Float64bits(x)
}

// origin names what the first row of a rank is of.
func (j *job) origin(rank *Rank, parameter string) Origin {
	row, call := rank.first.row, j.call(&rank.first)
	site := j.definitions.Sites[row.SiteID]
	o := Origin{
		Observation: row, Rank: rank.Rank, Step: rank.first.at.Step, Op: j.definitions.OpName(row.SiteID), Module: j.definitions.Module(call),
		Role: site.Role, Path: site.Path, Parameter: parameter, Layout: j.definitions.LayoutOrZero(row.LayoutID),
		UserFrame: origin.NewFrames().User(j.definitions.Frames(j.run, call)), NotFinite: rank.NotFinite,
	}
	o.Kind = o.kind(site)
	return o
}

func (o *Origin) kind(site schemas.SiteRow) origin.Kind {
	switch {
	case site.OpID == 0:
		return origin.Undefined
	case isArgument(o.Layout):
		return origin.Argument
	case site.Role == "parameter" || o.Parameter != "":
		return origin.Parameter
	case site.Role == "output" || site.Role == "parameter_gradient":
		return origin.Computed
	case schemas.NamesALoss(o.Op):
		return origin.UnseenInput // else the op that returned it would be the origin
	}
	return origin.Data
}
