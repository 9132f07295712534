package system

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/tensortap/tensortap/pipelines"
	"github.com/tensortap/tensortap/producers"
	"github.com/tensortap/tensortap/schemas"
)

// ErrNotStored says that the stream knows events that the tables have lost.
var ErrNotStored = errors.New("the stream has them and the tables lost them: stop `tensortap up` and run `tensortap replay`")

// published are steps of ranks whose content was acknowledged by the stream before.
type published struct {
	sources []producers.Source
	claims  []pipelines.Claim
}

// stored is a step of a rank that the tables hold whole.
type stored struct {
	rank  uint32
	epoch uint64
}

// again prepares to publish those of the steps that the tables have lost since. Where the database cannot be asked, that
// is noted.
func (p *publishing) again(ctx context.Context, before published) {
	held, err := p.held(ctx)
	if err != nil {
		p.result.Already, p.result.Unchecked = p.result.Already+len(before.claims), err
		return
	}
	for i, claim := range before.claims {
		if held[stored{claim.Rank, claim.Epoch}] {
			p.result.Already++
			continue
		}
		p.result.Again++
		before.sources[i].Content.Reissue(claim.Epoch, claim.Generation, claim.EventTimeNs)
		p.sources, p.claims = append(p.sources, before.sources[i]), append(p.claims, claim)
		p.all += before.sources[i].Bytes
	}
}

// checkAgain looks whether the tables hold what was published again: the stream drops messages that it took minutes ago.
func (p *publishing) checkAgain(ctx context.Context) error {
	if p.result.Again == 0 || p.publisher.Metrics().Snapshot().Duplicates == 0 {
		return nil
	}
	held, err := p.held(ctx)
	if err != nil {
		return err
	}
	for _, claim := range p.claims {
		if !held[stored{claim.Rank, claim.Epoch}] {
			return fmt.Errorf("step %d of rank %d was published before: %w", claim.Step, claim.Rank, ErrNotStored)
		}
	}
	return nil
}

const storedQuery = `SELECT rank, toString(epoch) AS epoch
FROM (SELECT rank, epoch, sum(tensor_count) AS row_count FROM tap_store.step WHERE run_id = {run:UInt64} GROUP BY rank, epoch) AS promised
LEFT JOIN (SELECT rank, epoch, count() AS row_count FROM tap_store.tensor WHERE run_id = {run:UInt64} GROUP BY rank, epoch) AS kept USING (rank, epoch)
WHERE promised.row_count = kept.row_count
    OR (SELECT count() FROM tap_store.dead_letter WHERE position(subject, {subject:String}) > 0) > 0`

// held are the steps of the run that the tables hold whole, or all of a run of which something was refused: nobody knows
// which rows those were.
func (p *publishing) held(ctx context.Context) (map[stored]bool, error) {
	client, err := Connect(ctx, p.client.Endpoint, p.client.now)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	if err := client.WaitCurrent(ctx); err != nil {
		return nil, err
	}
	table, err := client.Table(ctx, storedQuery, map[string]string{
		"run": strconv.FormatUint(schemas.RunID(p.request.Run), 10), "subject": "." + schemas.FormatID(schemas.RunID(p.request.Run)) + ".",
	})
	if err != nil {
		return nil, fmt.Errorf("look which steps are stored: %w", err)
	}
	held := make(map[stored]bool, len(table.Rows))
	for i := range table.Rows {
		epoch, err := strconv.ParseUint(table.Get(i, "epoch").Exact, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("look which steps are stored: %w", err)
		}
		held[stored{uint32(table.Get(i, "rank").Number), epoch}] = true
	}
	return held, nil
}
