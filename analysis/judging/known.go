package judging

import (
	"context"
	"fmt"
	"math"

	"github.com/tensortap/tensortap/analysis/ask"
	"github.com/tensortap/tensortap/analysis/compare"
	"github.com/tensortap/tensortap/analysis/judge"
	"github.com/tensortap/tensortap/schemas"
)

// Exceptions are the user's own.
func Exceptions(ctx context.Context, door *ask.Door) ([]judge.Exception, error) {
	table, err := door.Table(ctx, "SELECT api, role, path, sort, why FROM tap_store.known_exception FINAL ORDER BY api, role, path, sort", nil)
	if err != nil {
		return nil, fmt.Errorf("read known exceptions: %w", err)
	}
	var known []judge.Exception
	for i := range table.Rows {
		text := func(column string) string { return table.Get(i, column).Exact }
		known = append(known, judge.Exception{API: text("api"), Role: text("role"), Path: text("path"), Sort: text("sort"), Why: text("why")})
	}
	return known, nil
}

const payloadsQuery = `SELECT rank, step, problem_site_id, bench_site_id, same_bits, relative_l2
FROM tap_store.payload_error FINAL
WHERE problem_run_id = {problem:UInt64} AND bench_run_id = {bench:UInt64}`

// Payloads are what comparisons of the raw tensors of two runs said.
func Payloads(ctx context.Context, door *ask.Door, problem, bench string) (map[compare.PayloadPlace]judge.Payload, error) {
	table, err := door.Table(ctx, payloadsQuery, map[string]string{"problem": fmt.Sprint(schemas.RunID(problem)), "bench": fmt.Sprint(schemas.RunID(bench))})
	if err != nil {
		return nil, fmt.Errorf("read what raw tensors said: %w", err)
	}
	told := make(map[compare.PayloadPlace]judge.Payload, len(table.Rows))
	for i := range table.Rows {
		at := compare.PayloadPlace{Rank: uint32(table.Get(i, "rank").Number), Step: uint32(table.Get(i, "step").Number)}
		for column, into := range map[string]*uint64{"problem_site_id": &at.ProblemSite, "bench_site_id": &at.BenchSite} {
			if *into, err = schemas.ParseID(table.Get(i, column).Exact); err != nil {
				return nil, fmt.Errorf("read what raw tensors said: %w", err)
			}
		}
		said := judge.Payload{SameBits: table.Get(i, "same_bits").True(), Error: math.NaN()}
		if v := table.Get(i, "relative_l2"); !v.Null {
			said.Error = v.Number
		}
		told[at] = said
	}
	return told, nil
}
