package system

import (
	"context"
	"errors"
	"fmt"

	"github.com/tensortap/tensortap/schemas"
)

// RawKept says how many raw tensors of a run there are.
type RawKept struct {
	Files, Bytes uint64
	NotKept      uint64 // that were asked for
}

// RawTensorsKept asks the database, which must be current.
func RawTensorsKept(ctx context.Context, e Endpoint, run string) (kept RawKept, err error) {
	const query = `SELECT
    (SELECT count() FROM (SELECT DISTINCT location FROM tap.payloads WHERE run_id = {run_id:UInt64})),
    (SELECT sum(size_bytes) FROM (SELECT location, max(ifNull(size_bytes, 0)) AS size_bytes FROM tap.payloads WHERE run_id = {run_id:UInt64} GROUP BY location)),
    (SELECT sum(unseen_count) FROM tap.unseen_counts WHERE run_id = {run_id:UInt64} AND reason = 'payload not kept')`
	reader, err := OpenReader(ctx, e)
	if err != nil {
		return kept, err
	}
	defer reader.Close() //nolint:errcheck // only read
	rows, err := reader.Rows(ctx, query, map[string]string{"run_id": fmt.Sprint(schemas.RunID(run))})
	if err != nil {
		return kept, fmt.Errorf("count the raw tensors of run %s: %w", run, err)
	}
	for rows.Next() {
		err = errors.Join(err, rows.Scan(&kept.Files, &kept.Bytes, &kept.NotKept))
	}
	return kept, errors.Join(err, rows.Err(), rows.Close())
}
