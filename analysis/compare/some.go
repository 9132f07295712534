package compare

import (
	"context"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/tensortap/tensortap/analysis/judge"
	"github.com/tensortap/tensortap/analysis/pair"
	"github.com/tensortap/tensortap/analysis/rows"
	"github.com/tensortap/tensortap/schemas"
)

// selecting is a source that finds some tensors of a place without reading all, as the database does.
type selecting interface {
	Selected(ctx context.Context, run *rows.Run, places []rows.Place, wanted rows.Wanted) (map[rows.Place]*rows.Tensors, error)
}

// Selects says whether pairs of some ops can be judged by the tensors of these ops alone. Under a map, and where ranks are merged,
// they cannot: those tensors are made of others.
func (j *Job) Selects() bool {
	_, does := j.source.(selecting)
	return does
}

// Limits of what is judged at a time by its own tensors.
const (
	mostOps         = 500
	mostPlacesOfOps = 20_000
)

// JudgeOps is Judge for the tensors of some ops of either run. Verdicts on other ops may be among them. It needs a job that
// selects. It judges all ops where the alignment of different programs ties too many together.
func (j *Job) JudgeOps(ctx context.Context, steps []pair.Step, ops []uint64, each func(at pair.Step, judged []judge.Judged) error) error {
	together := j.together(ops)
	source, selects := j.source.(selecting)
	if !selects || len(together) > mostOps {
		return j.Judge(ctx, steps, each)
	}
	wanted := rows.Wanted{Sites: j.sitesOf(together)}
	if len(wanted.Sites) == 0 {
		return nil
	}
	for some := range slices.Chunk(steps, mostPlacesOfOps) {
		w, err := j.selectWindow(ctx, source, some, wanted)
		if err != nil {
			return err
		}
		if err := j.judgeWindow(ctx, w, newRooms(), each); err != nil {
			return err
		}
	}
	return nil
}

func (j *Job) selectWindow(ctx context.Context, source selecting, steps []pair.Step, wanted rows.Wanted) (window, error) {
	w := window{steps: steps}
	problem, bench := places(steps)
	group, readCtx := errgroup.WithContext(ctx)
	group.Go(func() (err error) {
		w.problem, err = source.Selected(readCtx, j.problem, problem, wanted)
		return err
	})
	group.Go(func() (err error) {
		w.bench, err = source.Selected(readCtx, j.bench(), bench, wanted)
		return err
	})
	return w, group.Wait()
}

// OpsBetween are the ops of the problem that have tensors in a part of a place's order.
func (j *Job) OpsBetween(ctx context.Context, at rows.Place, first, end uint64) ([]uint64, error) {
	source, _ := j.source.(selecting) // the job selects
	found, err := source.Selected(ctx, j.problem, []rows.Place{at}, rows.Wanted{FirstSeq: first, EndSeq: end})
	if err != nil {
		return nil, err
	}
	var ops []uint64
	for i := range found[at].Len() {
		if site, known := j.Definitions().Sites[found[at].SiteID[i]]; known {
			ops = append(ops, site.OpID)
		}
	}
	slices.Sort(ops)
	return slices.Compact(ops), nil
}

// together adds the ops that alignments put beside these, under whatever name. Then the partner of each tensor of these ops is
// also a tensor of one of them.
func (j *Job) together(ops []uint64) map[uint64]bool {
	set := map[uint64]bool{}
	for _, op := range ops {
		set[op] = true
	}
	for grown := true; grown && len(set) <= mostOps; {
		before := len(set)
		for _, alignment := range j.Alignments() {
			for _, row := range alignment.Rows {
				if row.Problem < 0 || row.Bench < 0 {
					continue
				}
				problem, bench := alignment.Problem.Ops[row.Problem].ID, alignment.Bench.Ops[row.Bench].ID
				if set[problem] || set[bench] {
					set[problem], set[bench] = true, true
				}
			}
		}
		grown = len(set) > before
	}
	return set
}

// TensorsOf says which tensors an op has.
func (j *Job) TensorsOf(op string) rows.Wanted {
	return rows.Wanted{Sites: j.sitesOf(map[uint64]bool{schemas.OpID(op): true})}
}

func (j *Job) sitesOf(ops map[uint64]bool) []uint64 {
	sites := []uint64{} // nil would be any
	for id, site := range j.Definitions().Sites {
		if ops[site.OpID] {
			sites = append(sites, id)
		}
	}
	return sites
}
