package system

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/tensortap/tensortap/analysis/compare"
	"github.com/tensortap/tensortap/analysis/pair"
	"github.com/tensortap/tensortap/analysis/pair/align"
	"github.com/tensortap/tensortap/pipelines"
	"github.com/tensortap/tensortap/schemas"
)

// alignmentRows is how many rows of alignments a message holds.
const alignmentRows = 16_384

// publishAlignments publishes how the programs of a comparison were aligned, but for what the database has.
func (c *Client) publishAlignments(ctx context.Context, job *compare.Job) error {
	alignments := job.Alignments()
	if len(alignments) == 0 {
		return nil
	}
	stored, err := c.storedAlignments(ctx, alignments)
	if err != nil {
		return fmt.Errorf("look for stored alignments: %w", err)
	}
	publisher, err := (&publishing{client: c}).newPublisher()
	if err != nil {
		return err
	}
	defer publisher.Close()
	problem, _ := job.Runs()
	for _, alignment := range alignments {
		rows := alignment.Stored()
		if len(rows) == 0 || stored[programsOf(alignment)] == opsOf(rows) {
			continue
		}
		if err := publishAlignment(ctx, publisher, problem.ID, rows); err != nil {
			return err
		}
	}
	return publisher.Flush(ctx)
}

func programsOf(a *pair.Alignment) pair.Programs {
	return pair.Programs{Problem: a.Problem.ID, Bench: a.Bench.ID}
}

// opsOf is how many ops of both programs the rows of an alignment hold.
func opsOf(rows []schemas.AlignmentRow) (ops uint64) {
	for i := range rows {
		for _, position := range []*uint32{rows[i].ProblemPosition, rows[i].BenchPosition} {
			if position != nil {
				ops++
			}
		}
	}
	return ops
}

// storedAlignmentsQuery counts the ops that are stored of each alignment by the rules of today, or later ones.
const storedAlignmentsQuery = `SELECT toString(problem_program_id) AS problem, toString(bench_program_id) AS bench, max(ops) AS ops
FROM (
    SELECT problem_program_id, bench_program_id,
        uniqExactIf(position, problem_position IS NOT NULL) + uniqExactIf(position, bench_position IS NOT NULL) AS ops
    FROM tap_store.alignment
    WHERE rules >= {rules:UInt16} AND (problem_program_id, bench_program_id) IN ({{PAIRS}})
    GROUP BY problem_program_id, bench_program_id, rules, content
)
GROUP BY problem_program_id, bench_program_id`

// storedAlignments is how many ops of each pair of programs the database holds an alignment of.
func (c *Client) storedAlignments(ctx context.Context, alignments []*pair.Alignment) (map[pair.Programs]uint64, error) {
	pairs := make([]string, len(alignments))
	for i, a := range alignments {
		pairs[i] = fmt.Sprintf("(%d, %d)", a.Problem.ID, a.Bench.ID)
	}
	query := strings.Replace(storedAlignmentsQuery, "{{PAIRS}}", strings.Join(pairs, ", "), 1)
	table, err := c.Table(ctx, query, map[string]string{"rules": fmt.Sprint(align.Rules)})
	if err != nil {
		return nil, err
	}
	stored := map[pair.Programs]uint64{}
	for i := range table.Rows {
		var ids [2]uint64
		for side, column := range []string{"problem", "bench"} {
			if ids[side], err = strconv.ParseUint(table.Get(i, column).Exact, 10, 64); err != nil {
				return nil, err
			}
		}
		stored[pair.Programs{Problem: ids[0], Bench: ids[1]}] = count(table, i, "ops")
	}
	return stored, nil
}

// publishAlignment publishes the rows of two programs. The same rows are published under the same ids, whoever does it.
// What the ops were given is that of the two runs that are compared first; others that ran the same programs are paired
// likewise.
func publishAlignment(ctx context.Context, to *pipelines.Publisher, runID uint64, rows []schemas.AlignmentRow) error {
	id := schemas.Identity{RunID: runID, Epoch: rows[0].Content}
	builder := schemas.NewBuilder[schemas.AlignmentRow]()
	for i := range rows {
		builder.Append(&rows[i])
		if builder.Len() < alignmentRows && i+1 < len(rows) {
			continue
		}
		if err := publishBatch(ctx, to, builder, id); err != nil {
			return err
		}
		id.Batch++
	}
	return nil
}
