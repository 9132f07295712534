package judging

import (
	"context"
	"fmt"
	"strconv"

	"github.com/tensortap/tensortap/analysis/compare"
	"github.com/tensortap/tensortap/analysis/verdicts"
	"github.com/tensortap/tensortap/schemas"
)

// basisQuery says at which step the runs differ first, if any, by which judgings of it, and what the latest origins rest
// on. How many judgings there are grows with each, so that it orders the answers.
const basisQuery = `SELECT
    step AS first_step,
    toString(cityHash64(arraySort(groupArray((rank, epoch))))) AS basis,
    toString((SELECT argMax(tap_store.origin.basis, revision) FROM tap_store.origin WHERE comparison_id = {comparison:UInt64})) AS answered,
    (SELECT count() FROM tap_store.judged_step WHERE comparison_id = {comparison:UInt64}) AS revision
FROM tap.judged_steps
WHERE comparison_id = {comparison:UInt64} AND differing_count > 0
GROUP BY step
ORDER BY step
LIMIT 1`

// beginning is where the judged steps of a comparison differ first.
type beginning struct {
	differs         bool
	step            uint32
	basis, answered string // hashes of the judgings of that step, and of those that the latest origins rest on
	revision        uint64
}

// stale says whether the latest origins rest on other judgings.
func (b *beginning) stale() bool { return b.differs && b.basis != b.answered }

func (k *Keeper) began(ctx context.Context, comparison uint64) (beginning, error) {
	table, err := k.Door.Table(ctx, basisQuery, map[string]string{"comparison": strconv.FormatUint(comparison, 10)})
	if err != nil {
		return beginning{}, fmt.Errorf("look for the first step that differs: %w", err)
	}
	if len(table.Rows) == 0 {
		return beginning{}, nil
	}
	return beginning{
		differs: true, step: uint32(table.Get(0, "first_step").Number),
		basis: table.Get(0, "basis").Exact, answered: table.Get(0, "answered").Exact, revision: uint64(table.Get(0, "revision").Number),
	}, nil
}

// originate publishes where the difference began, unless the latest answer rests on the same judgings.
func (k *Keeper) originate(ctx context.Context, c Comparison, job *compare.Job) error {
	began, err := k.began(ctx, c.ID())
	if err != nil || !began.stale() {
		return err
	}
	basis, err := strconv.ParseUint(began.basis, 10, 64)
	if err != nil {
		return fmt.Errorf("look for the first step that differs: %w", err)
	}
	answer, err := job.At(began.step).Run(ctx, compare.Recalled{}, nil)
	if err != nil {
		return fmt.Errorf("look for where %s begins to differ: %w", c.Request.Problem, err)
	}
	messages, err := verdicts.Origins(c.ID(), schemas.RunID(c.Request.Problem), began.revision, basis, answer.Origins)
	if err != nil {
		return err
	}
	if err := k.Publish(ctx, messages...); err != nil {
		return err
	}
	return k.Stored(ctx)
}
