package compare

import (
	"context"

	"github.com/tensortap/tensortap/analysis/origin"
	"github.com/tensortap/tensortap/analysis/pair"
	"github.com/tensortap/tensortap/analysis/result"
	"github.com/tensortap/tensortap/analysis/rows"
	"github.com/tensortap/tensortap/schemas"
)

// alignPrograms has the aligner see the tensors that it asks for, a step of each program.
func (j *Job) alignPrograms(ctx context.Context) error {
	aligner, tooMany := pair.NewAligner(j.problem, j.bench(), j.steps, j.source.Definitions())
	j.tooMany = tooMany
	if tooMany != nil {
		j.warnings = append(j.warnings, tooMany.Error())
	}
	problem, bench := aligner.Samples()
	if err := j.see(ctx, j.problem, problem, aligner.SeeProblem); err != nil {
		return err
	}
	if err := j.see(ctx, j.bench(), bench, aligner.SeeBench); err != nil {
		return err
	}
	j.aligner, j.planner = aligner, pair.NewPlanner(aligner)
	j.followMap()
	return nil
}

// see reads places one by one: a thousand of them may not fit into memory.
func (j *Job) see(ctx context.Context, run *rows.Run, samples []rows.Place, tell func(rows.Place, *rows.Tensors)) error {
	for _, at := range samples {
		tensors, err := j.source.Tensors(ctx, run, []rows.Place{at})
		if err != nil {
			return err
		}
		tell(at, tensors[at])
	}
	return nil
}

// finishing is what the end of the comparison needs beside the verdicts: how the problem's ranks met in the first step
// that differs.
func (j *Job) finishing(ctx context.Context, collected *result.Collector) (result.Finishing, error) {
	with := result.Finishing{Alignment: j.alignment}
	step, wantsMeetings := collected.OriginStep()
	if !wantsMeetings {
		return with, nil
	}
	var ranks []rows.Place
	for _, s := range j.steps {
		if s.InProblem && s.Step == step {
			ranks = append(ranks, rows.Place{Rank: s.Rank, Step: s.Step})
		}
	}
	tensors, err := j.source.Tensors(ctx, j.problem, ranks)
	if err != nil {
		return with, err
	}
	room := origin.NewRoom(j.problem, j.source.Definitions())
	for _, at := range ranks {
		if tensors[at].Len() > 0 {
			room.Add(at.Rank, tensors[at])
		}
	}
	with.Meetings = room.Meetings()
	return with, nil
}

func (j *Job) alignment(problem, bench uint64) []schemas.AlignmentRow {
	if a := j.aligner.Align(pair.Programs{Problem: problem, Bench: bench}); a != nil {
		return a.Stored()
	}
	return nil
}
