package system

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/tensortap/tensortap/analysis/pair"
	"github.com/tensortap/tensortap/analysis/pair/align"
	"github.com/tensortap/tensortap/pipelines"
	"github.com/tensortap/tensortap/schemas"
)

// Limits of one call of Align.
const (
	mostProgramPairs = 1000      // that are aligned
	mostAlignedOps   = 1_000_000 // that are held in memory, unless one pair has more
	alignmentRows    = 16_384    // of one message
)

// TooManyProgramsError says that two runs have more pairs of different programs
// than one call aligns. Those of most steps were aligned. Its caller warns: ops
// of the others are paired by their ids alone.
type TooManyProgramsError struct {
	Problem, Bench string
	Most           int
}

func (e *TooManyProgramsError) Error() string {
	return fmt.Sprintf("align %s with %s: they ran more than %d pairs of different programs that are not aligned yet; the %d of most steps are now, ops of the others are paired by their names alone",
		e.Problem, e.Bench, e.Most, e.Most)
}

// Align pairs the ops of every two different programs that the runs have at the same
// place, stores how, and returns when the database has it. What is stored already by
// the rules of today is left as it is.
func (c *Client) Align(ctx context.Context, problem, bench string, stepOffset int64) error {
	pairs, err := c.unaligned(ctx, problem, bench, stepOffset)
	if err != nil || len(pairs) == 0 {
		return err
	}
	if err := c.alignPairs(ctx, problem, bench, pairs[:min(len(pairs), mostProgramPairs)]); err != nil {
		return fmt.Errorf("align %s with %s: %w", problem, bench, err)
	}
	if err := c.WaitStored(ctx); err != nil {
		return err
	}
	left, err := c.unaligned(ctx, problem, bench, stepOffset)
	switch {
	case err != nil:
		return err
	case len(pairs) > mostProgramPairs:
		return &TooManyProgramsError{Problem: problem, Bench: bench, Most: mostProgramPairs}
	case len(left) > 0:
		return fmt.Errorf("align %s with %s: %d of %d alignments were published and the database lacks rows of them: `tensortap replay` stores again what the stream holds",
			problem, bench, len(left), len(pairs))
	}
	return nil
}

// programPair is two different programs that stand beside each other.
type programPair struct {
	problem, bench uint64
	ops            uint64 // of both
}

// unalignedQuery asks for the pairs whose alignment does not hold every op that is
// stored of both. The list of all pairs is one value, so that it is made once.
//
// A program that was cut short is left to the names of its ops: its last modules have no end, so what they hold would
// be paired with what stands outside.
const unalignedQuery = `WITH
    cut AS (
        SELECT program_id
        FROM tap.steps
        WHERE complete = 0 AND run_id IN (xxh3(concat({problem:String}, char(31))), xxh3(concat({bench:String}, char(31))))
    ),
    (
        SELECT groupArray((problem_program_id, bench_program_id, steps))
        FROM (
            SELECT problem_program_id, bench_program_id, count() AS steps
            FROM tap.program_pairs(problem = {problem:String}, bench = {bench:String}, rank = -1, first_step = 0, last_step = -1, step_offset = {step_offset:Int64})
            WHERE problem_program_id != bench_program_id
                AND problem_program_id NOT IN (SELECT program_id FROM cut) AND bench_program_id NOT IN (SELECT program_id FROM cut)
            GROUP BY problem_program_id, bench_program_id
        )
    ) AS list,
    pairs AS (
        SELECT pair.1 AS problem_program_id, pair.2 AS bench_program_id, pair.3 AS steps
        FROM (SELECT arrayJoin(list) AS pair)
    ),
    sizes AS (
        SELECT program_id, count() AS ops
        FROM tap.programs
        WHERE program_id IN (SELECT arrayJoin([pair.1, pair.2]) FROM (SELECT arrayJoin(list) AS pair))
        GROUP BY program_id
    ),
    done AS (
        SELECT problem_program_id, bench_program_id, countIf(problem_position IS NOT NULL) AS problem_ops, countIf(bench_position IS NOT NULL) AS bench_ops
        FROM tap.alignments
        WHERE rules >= {rules:UInt16} AND (problem_program_id, bench_program_id) IN (SELECT pair.1, pair.2 FROM (SELECT arrayJoin(list) AS pair))
        GROUP BY problem_program_id, bench_program_id
    )
SELECT pairs.problem_program_id, pairs.bench_program_id, p.ops + b.ops
FROM pairs
LEFT JOIN sizes AS p ON p.program_id = pairs.problem_program_id
LEFT JOIN sizes AS b ON b.program_id = pairs.bench_program_id
LEFT JOIN done ON done.problem_program_id = pairs.problem_program_id AND done.bench_program_id = pairs.bench_program_id
WHERE done.problem_ops != p.ops OR done.bench_ops != b.ops
ORDER BY pairs.steps DESC, pairs.problem_program_id, pairs.bench_program_id
LIMIT {most:UInt64}`

// oneProgramQuery is a quick look at what is the rule: that all steps of both runs ran the same program.
const oneProgramQuery = `SELECT uniqExact(program_id) = 1 AS one FROM tap_store.step
WHERE run_id IN (xxh3(concat({problem:String}, char(31))), xxh3(concat({bench:String}, char(31))))`

func (c *Client) unaligned(ctx context.Context, problem, bench string, stepOffset int64) ([]programPair, error) {
	one, err := c.Table(ctx, oneProgramQuery, map[string]string{"problem": problem, "bench": bench})
	if err != nil || one.Get(0, "one").Number == 1 {
		return nil, err
	}
	rows, err := c.Rows(ctx, unalignedQuery, map[string]string{
		"problem": problem, "bench": bench, "step_offset": fmt.Sprint(stepOffset), "rules": fmt.Sprint(align.Rules), "most": fmt.Sprint(mostProgramPairs + 1),
	})
	if err != nil {
		return nil, fmt.Errorf("look for programs of %s and %s that are not aligned: %w", problem, bench, err)
	}
	defer rows.Close() //nolint:errcheck // Err says what went wrong
	var pairs []programPair
	for rows.Next() {
		var p programPair
		if err := rows.Scan(&p.problem, &p.bench, &p.ops); err != nil {
			return nil, fmt.Errorf("look for programs of %s and %s that are not aligned: %w", problem, bench, err)
		}
		pairs = append(pairs, p)
	}
	return pairs, rows.Err()
}

// alignPairs aligns as many pairs at a time as fit into memory.
func (c *Client) alignPairs(ctx context.Context, problem, bench string, pairs []programPair) error {
	publisher, err := (&publishing{client: c}).newPublisher()
	if err != nil {
		return err
	}
	for len(pairs) > 0 {
		n, ops := 0, uint64(0)
		for n < len(pairs) && (n == 0 || ops+pairs[n].ops <= mostAlignedOps) {
			ops += pairs[n].ops
			n++
		}
		programs, err := c.programs(ctx, pairs[:n])
		if err != nil {
			return err
		}
		given, err := c.signatures(ctx, problem, bench, pairs[:n])
		if err != nil {
			return err
		}
		runID, benchID := schemas.RunID(problem), schemas.RunID(bench)
		for _, of := range pairs[:n] {
			p, b := programs[of.problem], programs[of.bench]
			pair.Sign(p, b, given[ranProgram{runID, of.problem}], given[ranProgram{benchID, of.bench}])
			if err := publishAlignment(ctx, publisher, runID, pair.Align(p, b)); err != nil {
				return err
			}
		}
		pairs = pairs[n:]
	}
	return publisher.Flush(ctx)
}

// programsQuery asks for ops in their order, and once for each parent that is not one of them.
const programsQuery = `WITH
    wanted AS (
        SELECT program_id, position, op_id, parent_op_id
        FROM tap.programs
        WHERE program_id IN ({{PROGRAMS}})
    ),
    placed AS (
        SELECT program_id, 0 AS absent, position, op_id, parent_op_id
        FROM wanted
        UNION ALL
        SELECT DISTINCT program_id, 1 AS absent, toUInt32(0) AS position, parent_op_id AS op_id, toUInt64(0) AS parent_op_id
        FROM wanted
        WHERE parent_op_id != 0 AND (program_id, parent_op_id) NOT IN (SELECT program_id, op_id FROM wanted)
    )
SELECT placed.program_id, placed.absent, placed.position, placed.op_id, placed.parent_op_id, op.level, op.prefix, op.module_path, op.class_or_api, op.call_index, op.phase
FROM placed
LEFT ANY JOIN (
    SELECT op_id, level, prefix, module_path, class_or_api, call_index, phase
    FROM tap.ops
    WHERE op_id IN (SELECT op_id FROM placed)
) AS op ON op.op_id = placed.op_id
ORDER BY placed.program_id, placed.absent, placed.position, placed.op_id`

// programs reads the programs of the pairs.
func (c *Client) programs(ctx context.Context, pairs []programPair) (map[uint64]*pair.Program, error) {
	programs := map[uint64]*pair.Program{}
	var ids []string
	for _, of := range pairs {
		for _, id := range []uint64{of.problem, of.bench} {
			if programs[id] == nil {
				programs[id] = &pair.Program{ID: id}
				ids = append(ids, fmt.Sprint(id))
			}
		}
	}
	query := strings.Replace(programsQuery, "{{PROGRAMS}}", strings.Join(ids, ", "), 1)
	if err := c.readPrograms(ctx, query, programs); err != nil {
		return nil, fmt.Errorf("read %d programs: %w", len(ids), err)
	}
	return programs, nil
}

func (c *Client) readPrograms(ctx context.Context, query string, into map[uint64]*pair.Program) error {
	rows, err := c.Rows(ctx, query, nil)
	if err != nil {
		return err
	}
	defer rows.Close() //nolint:errcheck // Err says what went wrong
	for rows.Next() {
		var id uint64
		var absent uint8
		var position uint32
		var op align.Op
		if err := rows.Scan(&id, &absent, &position, &op.ID, &op.ParentID, &op.Level, &op.Prefix, &op.ModulePath, &op.ClassOrAPI, &op.CallIndex, &op.Phase); err != nil {
			return err
		}
		p := into[id]
		if p == nil {
			return errors.New("the database gave a program that was not asked for")
		}
		op.Absent = absent == 1
		p.Ops, p.Positions = append(p.Ops, op), append(p.Positions, position)
	}
	return rows.Err()
}

// publishAlignment aligns two programs. The same rows are published under the same ids, whoever does it. What the ops
// were given is that of the two runs that are compared first; others that ran the same programs are paired likewise.
func publishAlignment(ctx context.Context, to *pipelines.Publisher, runID uint64, alignment *pair.Alignment) error {
	rows := alignment.Stored()
	if len(rows) == 0 {
		return nil
	}
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
