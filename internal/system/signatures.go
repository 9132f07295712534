package system

import (
	"context"
	"fmt"
	"strings"

	"github.com/tensortap/tensortap/analysis/pair"
	"github.com/tensortap/tensortap/schemas"
)

// ranProgram is a program as one of the two runs ran it.
type ranProgram struct{ run, program uint64 }

// signatures are those of the ops that have rows, by program and op.
type signatures map[ranProgram]map[uint64]pair.Signature

// signaturesQuery looks at one step of each program and run: the first one that has rows. Devices, strides and
// placements are left out, since they differ between the runs as a whole; so is text, which may be the id of a request.
// Sizes count without the factors that follow from the numbers of ranks among which tensors are split.
const signaturesQuery = `WITH
    seen AS (
        SELECT run_id, program_id, argMin((rank, step), (tensor_count = 0, rank, step)) AS place
        FROM tap.steps
        WHERE run_id IN ({{RUNS}}) AND program_id IN ({{PROGRAMS}})
        GROUP BY run_id, program_id
    ),
    observed AS (
        SELECT DISTINCT run_id, rank, step, site_id, layout_id
        FROM tap_store.tensor
        WHERE run_id IN ({{RUNS}})
            AND (run_id, rank, step) IN (SELECT run_id, place.1, place.2 FROM seen)
            AND (run_id, rank, step, epoch) NOT IN (SELECT run_id, rank, step, epoch FROM tap.superseded_steps)
    )
SELECT
    seen.run_id,
    seen.program_id,
    site.op_id,
    cityHash64(arraySort(groupUniqArray(cityHash64(site.role, site.path, layout.kind, layout.dtype, layout.sizes, if(layout.kind IN ('str', 'device', 'group', 'other'), '', layout.word))))) AS exact,
    cityHash64(arraySort(groupUniqArray(cityHash64(site.role, site.path, layout.kind, layout.sizes, if(layout.kind IN ('str', 'dtype', 'device', 'group', 'other'), '', layout.word))))) AS shapes
FROM seen
INNER JOIN observed ON observed.run_id = seen.run_id AND observed.rank = seen.place.1 AND observed.step = seen.place.2
INNER JOIN (
    SELECT site_id, op_id, role, path
    FROM tap.sites
    WHERE site_id IN (SELECT site_id FROM observed)
) AS site ON site.site_id = observed.site_id
INNER JOIN (
    SELECT layout_id, kind, dtype, arrayMap(size -> intDiv(size, gcd(greatest(size, 1), {{SPLIT}})), shape) AS sizes,
        if(kind = 'int', toString(intDiv(toInt64OrZero(literal), gcd(greatest(toInt64OrZero(literal), 1), {{SPLIT}}))), literal) AS word
    FROM tap.layouts
    WHERE layout_id IN (SELECT layout_id FROM observed)
) AS layout ON layout.layout_id = observed.layout_id
GROUP BY seen.run_id, seen.program_id, site.op_id`

// signatures reads those of all ops of the pairs.
func (c *Client) signatures(ctx context.Context, problem, bench string, pairs []programPair) (signatures, error) {
	var ids []string
	for _, of := range pairs {
		ids = append(ids, fmt.Sprint(of.problem), fmt.Sprint(of.bench))
	}
	split, err := c.splitFactors(ctx, problem, bench)
	if err != nil {
		return nil, err
	}
	query := strings.NewReplacer(
		"{{SPLIT}}", fmt.Sprint(split),
		"{{RUNS}}", fmt.Sprintf("%d, %d", schemas.RunID(problem), schemas.RunID(bench)),
		"{{PROGRAMS}}", strings.Join(ids, ", "),
	).Replace(signaturesQuery)
	read := signatures{}
	if err := c.readSignatures(ctx, query, read); err != nil {
		return nil, fmt.Errorf("read what the ops of %d pairs of programs were given: %w", len(pairs), err)
	}
	return read, nil
}

func (c *Client) readSignatures(ctx context.Context, query string, into signatures) error {
	rows, err := c.Rows(ctx, query, nil)
	if err != nil {
		return err
	}
	defer rows.Close() //nolint:errcheck // Err says what went wrong
	for rows.Next() {
		var of ranProgram
		var op uint64
		var s pair.Signature
		if err := rows.Scan(&of.run, &of.program, &op, &s.Exact, &s.Shapes); err != nil {
			return err
		}
		if into[of] == nil {
			into[of] = map[uint64]pair.Signature{}
		}
		into[of][op] = s
	}
	return rows.Err()
}
