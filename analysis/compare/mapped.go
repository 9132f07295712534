package compare

import (
	"context"
	"errors"
	"fmt"

	"github.com/tensortap/tensortap/analysis/judge"
	"github.com/tensortap/tensortap/analysis/mapping"
	"github.com/tensortap/tensortap/analysis/mapping/families"
	"github.com/tensortap/tensortap/analysis/pair"
	"github.com/tensortap/tensortap/analysis/rows"
)

// followMap has the map say which ops and tensors it names in full, and warns of lines that made no pair.
func (j *Job) followMap() {
	if j.mapped == nil {
		return
	}
	j.planner.Rename(j.rename())
	if j.request.Map.Name != "" { // it knows more modules than a model has
		return
	}
	for _, line := range j.mapped.Unmatched() {
		j.warnings = append(j.warnings, fmt.Sprintf("line %d of %s made no pair: %s", line.Number, j.request.Map.File, line.Text))
	}
}

// rename has the map's last word on the pairs of sites; nil without one.
func (j *Job) rename() pair.Rename {
	if j.mapped == nil {
		return nil
	}
	return j.mapped.Moved
}

// chooseMap takes the map that ships for two implementations of one model, where none was given.
func (j *Job) chooseMap(ctx context.Context) error {
	if j.request.Map != nil || !j.request.ChooseMap {
		return nil
	}
	chosen, err := families.Choose(j.problem, j.bench(), j.source.Definitions())
	if err != nil || chosen == nil {
		return err
	}
	j.request.Map = chosen
	j.mapped = mapping.NewSource(j.source, chosen, j.request.Problem, j.request.others())
	j.source = j.mapped
	return j.readRuns(ctx)
}

// Map is the map by which the runs are compared, given or chosen; nil if modules pair by name.
func (j *Job) Map() *mapping.Map { return j.request.Map }

// judgedBy are rules with what a map of two implementations excuses.
func (j *Job) judgedBy(config judge.Config) judge.Config {
	if j.mapped != nil && j.request.Map.Implementations {
		config.Implementations = &judge.Implementations{Apart: j.mapped.Apart(), Casts: j.mapped.Casts(), Sums: j.mapped.Sums()}
		j.census = newCensus(j.mapped)
	}
	return config
}

// SuggestMap writes a mapping file from the weights of the first step of both runs that the request asks for. It is empty
// where no module has a partner of another name.
func SuggestMap(ctx context.Context, source rows.Source, r Request) (string, error) {
	r.Benches, r.Map, r.ChooseMap = r.Benches[:min(len(r.Benches), 1)], nil, false
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
