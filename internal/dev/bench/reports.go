package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/tensortap/tensortap/internal/system"
	"github.com/tensortap/tensortap/sql"
)

// measureReports asks every report over what comparisons of two stored runs came to.
func measureReports(ctx context.Context, e *env) (section, error) {
	var s section
	sizes := []struct {
		rows int
		mark float64
	}{{e.runRows(), e.wholeMark(0.1)}, {10 * e.runRows(), e.wholeMark(0.3)}}
	if !e.large {
		sizes = sizes[:1]
	}
	for _, size := range sizes {
		r := reporting{env: e, section: &s, rows: size.rows, mark: size.mark}
		err := e.withServer(ctx, nil, func(ctx context.Context, server *server) error {
			r.server = server
			return r.measure(ctx)
		})
		if err != nil {
			return s, err
		}
	}
	s.note("Two runs of 4 ranks with 5,000 tensors a step, compared by two tolerances, so that few and a hundred times as many rows differ. Rows are those of both runs. Their verdicts came over the stream; the tensors stand as they were inserted, not merged further.")
	s.note("Asked as the command does: whether all is judged and by which comparison, then the report; alone is that SELECT. Each was asked %d times until the whole answer was decoded, after once for the page cache; the figure is the 95th percentile.", e.asks())
	s.note("Greatest numbers of rows are the reports' own defaults. Overflow and completeness read tensors and no verdict.")
	return s, nil
}

func (e *env) asks() int { return e.pick(4*e.rounds, 3) }

// reporting is the reports over two stored runs.
type reporting struct {
	*env
	section *section
	server  *server
	rows    int // of each run
	mark    float64
}

func (r *reporting) measure(ctx context.Context) error {
	r.say("%s", millions(2*r.rows))
	if err := r.server.fillTwoRuns(ctx, r.rows); err != nil {
		return err
	}
	var pooled [2]rounds
	for i, tolerance := range []float64{fewDiffer, manyDiffer} {
		mark := r.mark
		if tolerance != fewDiffer {
			mark = 0
		}
		var err error
		if pooled[i], err = r.all(ctx, tolerance, mark); err != nil {
			return err
		}
	}
	more := rounds{pooled[1].median() / pooled[0].median()}
	r.section.add(more.atMost("time of all reports where more differ, beside where few do", 0, times))
	return r.others(ctx)
}

// all asks every report of what is judged, and gives the times as the command asks.
func (r *reporting) all(ctx context.Context, tolerance, mark float64) (pooled rounds, err error) {
	request := system.DefaultCompareRequest()
	request.Problem, request.Benches, request.Tolerance.Number = "problem", []string{"bench"}, tolerance
	id, err := r.server.client.Judged(ctx, request)
	if err != nil {
		return nil, err
	}
	differing, err := r.server.differing(ctx)
	if err != nil {
		return nil, err
	}
	r.say("%d rows differ", differing)
	judged, err := judgedReports()
	if err != nil {
		return nil, err
	}
	about := fmt.Sprintf("%s, %d differ: ", millions(2*r.rows), differing)
	for _, name := range judged {
		asked, alone, err := r.one(ctx, name, request, id)
		if err != nil {
			return nil, fmt.Errorf("ask report %s: %w", name, err)
		}
		r.say("%s %s, alone %s", name, milliseconds(asked.median()), milliseconds(alone.median()))
		r.section.add(percentile(about+name, asked, mark, "alone "+milliseconds(alone.quantile(0.95))))
		pooled = append(pooled, asked...)
	}
	r.section.add(percentile(about+"every report", pooled, mark, "all of the above"))
	return pooled, nil
}

func judgedReports() ([]string, error) {
	reports, err := sql.Reports()
	var names []string
	for _, r := range reports {
		if r.Judged() {
			names = append(names, r.Name)
		}
	}
	slices.Sort(names)
	return names, err
}

// percentile is the 95th, beside the median.
func percentile(what string, asked rounds, mark float64, beside string) figure {
	f := rounds{asked.quantile(0.95)}.atMost(what, mark, milliseconds)
	f.detail = fmt.Sprintf("median %s, worst %s; %s", milliseconds(asked.median()), milliseconds(asked.greatest()), beside)
	return f
}

// one asks a report as the command does, and by itself.
func (r *reporting) one(ctx context.Context, name string, request system.CompareRequest, id string) (asked, alone rounds, err error) {
	report := func() error {
		_, err := r.server.client.Report(ctx, name, map[string]string{"problem": "problem", "bench": "bench", "comparison": id})
		return err
	}
	if err := report(); err != nil { // reads from disk
		return nil, nil, err
	}
	for range r.asks() {
		err := take(&asked, func() error {
			if _, err := r.server.client.Judged(ctx, request); err != nil {
				return err
			}
			return report()
		})
		if err != nil {
			return nil, nil, err
		}
		if err := take(&alone, report); err != nil {
			return nil, nil, err
		}
	}
	return asked, alone, nil
}

// others are reports of one run that read its tensors.
func (r *reporting) others(ctx context.Context) error {
	for _, name := range []string{"overflow", "completeness"} {
		took, err := repeat(ctx, 1+r.rounds, func() (float64, error) {
			return elapsed(func() error {
				_, err := r.server.client.Report(ctx, name, map[string]string{"run": "problem"})
				return err
			})
		})
		if err != nil {
			return err
		}
		r.say("%s %s", name, seconds(took[1:].median()))
		r.section.add(took[1:].atMost(fmt.Sprintf("%s: %s of one run", millions(2*r.rows), name), 0, seconds))
	}
	return nil
}

func millions(rows int) string { return fmt.Sprintf("%g M rows", float64(rows)/1e6) }
