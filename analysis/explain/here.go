package explain

import (
	"context"
	"sync"

	"github.com/tensortap/tensortap/analysis/compare"
	"github.com/tensortap/tensortap/analysis/judge"
	"github.com/tensortap/tensortap/analysis/pair"
	"github.com/tensortap/tensortap/analysis/rows"
	"github.com/tensortap/tensortap/schemas"
)

// judgeOps judges the tensors of some ops; where the job cannot tell them from others without reading all, it judges all.
func judgeOps(ctx context.Context, job *compare.Job, steps []pair.Step, ops []uint64, each func(pair.Step, []judge.Judged) error) error {
	if job.Selects() {
		return job.JudgeOps(ctx, steps, ops, each)
	}
	return job.Judge(ctx, steps, each)
}

// judgedHere judges the pairs of an op at a place, and of so many ops before it. There may be more.
func judgedHere(ctx context.Context, job *compare.Job, here []pair.Step, op string, before int, known *ownVerdicts) (own []judge.Judged, err error) {
	switch {
	case known.asked():
		own = known.judged
	case job.Selects():
		own, err = judgedOps(ctx, job, here, []uint64{schemas.OpID(op)})
	default:
		own, err = collect(func(each func(pair.Step, []judge.Judged) error) error { return job.Judge(ctx, here, each) })
	}
	if err != nil || !job.Selects() { // which judged all
		return own, err
	}
	begin, runs := beginOf(own, schemas.OpID(op), job.Definitions())
	if !runs {
		return own, nil // the bench alone has it
	}
	place := rows.Place{Rank: here[0].Rank, Step: here[0].Step}
	for back := uint64(256); ; back *= 16 { // an op has some tensors; most are found at once
		from := begin - min(begin, back)
		ops, err := job.OpsBetween(ctx, place, from, begin)
		if err != nil {
			return nil, err
		}
		judged, err := judgedOps(ctx, job, here, append(ops, schemas.OpID(op)))
		if err != nil || from == 0 || begunSince(judged, from, begin, job.Definitions()) >= before {
			return judged, err
		}
	}
}

// ownVerdicts keeps the verdicts on the op at the place that was asked for, while all places of the op are judged, so that this
// one is not judged again.
type ownVerdicts struct {
	of     Request
	lock   sync.Mutex
	judged []judge.Judged
}

// asked says whether a place was asked for.
func (o *ownVerdicts) asked() bool { return o.of.Rank != -1 && o.of.Step != -1 }

// keep copies the verdicts of the place: who judges writes others into the same slice.
func (o *ownVerdicts) keep(at pair.Step, judged []judge.Judged) {
	if !o.asked() || int64(at.Rank) != o.of.Rank || int64(at.Step) != o.of.Step {
		return
	}
	o.lock.Lock()
	defer o.lock.Unlock()
	o.judged = append(o.judged, judged...)
}

func judgedOps(ctx context.Context, job *compare.Job, here []pair.Step, ops []uint64) ([]judge.Judged, error) {
	return collect(func(each func(pair.Step, []judge.Judged) error) error { return job.JudgeOps(ctx, here, ops, each) })
}

// collect keeps all verdicts that are handed on.
func collect(judging func(each func(pair.Step, []judge.Judged) error) error) (all []judge.Judged, err error) {
	var lock sync.Mutex
	err = judging(func(_ pair.Step, judged []judge.Judged) error {
		lock.Lock()
		defer lock.Unlock()
		all = append(all, judged...)
		return nil
	})
	return all, err
}

// beginOf is where an op begins in the problem, if it runs there.
func beginOf(judged []judge.Judged, op uint64, definitions *rows.Definitions) (begin uint64, runs bool) {
	for i := range judged {
		own := &judged[i].Problem
		if judged[i].InProblem && definitions.Sites[own.SiteID].OpID == op && (!runs || own.Seq < begin) {
			begin, runs = own.Seq, true
		}
	}
	return begin, runs
}

// begunSince counts the ops whose first tensor stands in a part of the order. All others stand before it, or after.
func begunSince(judged []judge.Judged, from, end uint64, definitions *rows.Definitions) int {
	begun := map[uint64]uint64{}
	for i := range judged {
		if own := &judged[i].Problem; judged[i].InProblem {
			op := definitions.Sites[own.SiteID].OpID
			if at, known := begun[op]; !known || own.Seq < at {
				begun[op] = own.Seq
			}
		}
	}
	count := 0
	for _, at := range begun {
		if at >= from && at < end {
			count++
		}
	}
	return count
}
