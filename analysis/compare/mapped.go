package compare

import (
	"context"
	"errors"
	"fmt"

	"github.com/tensortap/tensortap/analysis/mapping"
	"github.com/tensortap/tensortap/analysis/rows"
)

// followMap has the map say which ops and tensors it names in full, and warns of lines that made no pair.
func (j *Job) followMap() {
	if j.mapped == nil {
		return
	}
	j.planner.Rename(j.mapped.Moved)
	for _, line := range j.mapped.Unmatched() {
		j.warnings = append(j.warnings, fmt.Sprintf("line %d of %s made no pair: %s", line.Number, j.request.Map.File, line.Text))
	}
}

// SuggestMap writes a mapping file from the weights of the first step of both runs that the request asks for. It is empty
// where no module has a partner of another name.
func SuggestMap(ctx context.Context, source rows.Source, r Request) (string, error) {
	r.Benches, r.Map = r.Benches[:min(len(r.Benches), 1)], nil
	job, err := Open(ctx, source, r)
	if err != nil {
		return "", err
	}
	for _, at := range job.steps {
		if !at.InProblem || !at.InBench {
			continue
		}
		problem, bench := rows.Place{Rank: at.Rank, Step: at.Step}, rows.Place{Rank: at.BenchRank, Step: at.BenchStep}
		left, err := source.Tensors(ctx, job.problem, []rows.Place{problem})
		if err != nil {
			return "", err
		}
		right, err := source.Tensors(ctx, job.bench(), []rows.Place{bench})
		if err != nil {
			return "", err
		}
		if left[problem].Len() > 0 && right[bench].Len() > 0 {
			return mapping.Suggest(left[problem], right[bench], source.Definitions()), nil
		}
	}
	return "", errors.New("suggest a map: the runs have no step in common")
}
