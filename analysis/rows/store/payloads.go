package store

import (
	"context"
	"fmt"
	"slices"

	"github.com/tensortap/tensortap/analysis/rows"
	"github.com/tensortap/tensortap/consumers/clickhouse"
	"github.com/tensortap/tensortap/schemas"
)

// Payloads are where the raw tensors of a run lie.
func (s *Source) Payloads(ctx context.Context, of *rows.Run) ([]schemas.PayloadRow, error) {
	kept, err := clickhouse.Rows[schemas.PayloadRow](ctx, s.database, fmt.Sprintf("run_id = %d", of.ID))
	if err != nil {
		return nil, fmt.Errorf("read run %s: %w", of.Name, err)
	}
	return slices.DeleteFunc(kept, func(p schemas.PayloadRow) bool {
		return slices.Contains(of.Replaced[rows.Place{Rank: p.Rank, Step: p.Step}], p.Epoch)
	}), nil
}
