package system

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/tensortap/tensortap/internal/plural"
	"github.com/tensortap/tensortap/pipelines"
)

// Claims and starts that the stream's server lost are made again of the rows that are stored: a folder that was published is
// not published once more, and a start of a live rank keeps its number.

// A rank with signs of life was recorded live. A step is done when all of its tensors are stored.
const claimsQuery = `SELECT run_id, rank, step, claimed.epoch AS epoch, claimed.generation AS generation, claimed.event_time_ns AS event_time_ns,
    toUInt8(promised <= stored) AS done
FROM (
    SELECT run_id, rank, step, argMax(tap_store.step.epoch, tap_store.step.generation) AS epoch,
        max(tap_store.step.generation) AS generation, argMax(tap_store.step.event_time_ns, tap_store.step.generation) AS event_time_ns
    FROM tap_store.step
    WHERE (run_id, rank) NOT IN (SELECT run_id, rank FROM tap_store.heartbeat)
        AND (run_id, rank) NOT IN (SELECT run_id, rank FROM tap_store.rank WHERE started_time_ns IS NOT NULL)
    GROUP BY run_id, rank, step
) AS claimed
LEFT JOIN (SELECT run_id, rank, epoch, sum(tensor_count) AS promised FROM tap_store.step GROUP BY run_id, rank, epoch) AS p USING (run_id, rank, epoch)
LEFT JOIN (SELECT run_id, rank, epoch, count() AS stored FROM tap_store.tensor GROUP BY run_id, rank, epoch) AS s USING (run_id, rank, epoch)`

const startsQuery = `SELECT run_id, rank, epoch, argMaxIf(signs.state, (at, batch), signs.state != '') AS state, max(signs.generation) AS generation, max(signs.next) AS next
FROM (
    SELECT run_id, rank, epoch, event_time_ns AS at, batch, state, toUInt32(0) AS generation, toUInt32(0) AS next FROM tap_store.heartbeat
    UNION ALL
    SELECT run_id, rank, epoch, assumeNotNull(started_time_ns) AS at, 0 AS batch, '' AS state, toUInt32(0) AS generation, toUInt32(0) AS next
    FROM tap_store.rank WHERE started_time_ns IS NOT NULL
    UNION ALL
    SELECT run_id, rank, epoch, event_time_ns AS at, batch, '' AS state, generation, toUInt32(step + 1) AS next FROM tap_store.step
    WHERE (run_id, rank, epoch) IN (SELECT run_id, rank, epoch FROM tap_store.heartbeat)
) AS signs
GROUP BY run_id, rank, epoch
ORDER BY run_id, rank, min(at)`

type claimRow struct {
	RunID       uint64 `ch:"run_id"`
	Rank        uint32 `ch:"rank"`
	Step        uint32 `ch:"step"`
	Epoch       uint64 `ch:"epoch"`
	Generation  uint32 `ch:"generation"`
	EventTimeNs int64  `ch:"event_time_ns"`
	Done        uint8  `ch:"done"`
}

type startRow struct {
	RunID      uint64 `ch:"run_id"`
	Rank       uint32 `ch:"rank"`
	Epoch      uint64 `ch:"epoch"`
	State      string `ch:"state"`
	Generation uint32 `ch:"generation"`
	Next       uint32 `ch:"next"`
}

// Reclaimed counts the claims and starts that were made again.
type Reclaimed struct{ Steps, Ranks int64 }

// String is in words, and empty where nothing was lost.
func (r Reclaimed) String() string {
	if r == (Reclaimed{}) {
		return ""
	}
	return fmt.Sprintf("which content was published as %s of ranks, and how %s started", plural.Of(r.Steps, "step"), plural.Of(r.Ranks, "live rank"))
}

// Reclaim makes the claims and starts again that the stream's server lost.
func (c *Client) Reclaim(ctx context.Context) (Reclaimed, error) {
	known, err := pipelines.Sources(ctx, c.stream)
	if err != nil {
		return Reclaimed{}, err
	}
	claims, err := pipelines.OpenClaims(ctx, c.stream)
	if err != nil {
		return Reclaimed{}, err
	}
	deleted, err := pipelines.DeletedRuns(ctx, c.stream)
	if err != nil {
		return Reclaimed{}, err
	}
	var result Reclaimed
	if result.Steps, err = c.reclaimSteps(ctx, claims, known, deleted); err != nil {
		return result, err
	}
	result.Ranks, err = c.readmitRanks(ctx, claims, known, deleted)
	return result, err
}

func (c *Client) reclaimSteps(ctx context.Context, claims *pipelines.Claims, known map[string]bool, deleted map[uint64]bool) (int64, error) {
	var rows []claimRow
	if err := c.database.Select(ctx, &rows, claimsQuery); err != nil {
		return 0, fmt.Errorf("read which steps are stored: %w", err)
	}
	rows = slices.DeleteFunc(rows, func(r claimRow) bool { return deleted[r.RunID] || known[r.claim().Key()] })
	var made atomic.Int64
	err := claimEach(len(rows), func(i int) error {
		lost, err := claims.Reclaim(ctx, rows[i].claim())
		if lost {
			made.Add(1)
		}
		return err
	})
	return made.Load(), err
}

func (r claimRow) claim() pipelines.Claim {
	return pipelines.Claim{
		RunID: r.RunID, Rank: r.Rank, Step: r.Step, Epoch: r.Epoch, Generation: r.Generation, EventTimeNs: r.EventTimeNs, Done: r.Done == 1,
	}
}

func (c *Client) readmitRanks(ctx context.Context, claims *pipelines.Claims, known map[string]bool, deleted map[uint64]bool) (made int64, err error) {
	var rows []startRow
	if err := c.database.Select(ctx, &rows, startsQuery); err != nil {
		return 0, fmt.Errorf("read which ranks started: %w", err)
	}
	for len(rows) > 0 {
		r := pipelines.StartRequest{RunID: rows[0].RunID, Rank: rows[0].Rank}
		var starts []pipelines.Started
		for len(rows) > 0 && rows[0].RunID == r.RunID && rows[0].Rank == r.Rank {
			starts = append(starts, pipelines.Started{Epoch: rows[0].Epoch, State: stateOf(rows[0].State), Generation: rows[0].Generation, Next: rows[0].Next})
			rows = rows[1:]
		}
		if known[r.Key()] || deleted[r.RunID] {
			continue
		}
		lost, err := claims.Readmit(ctx, r, starts)
		if err != nil {
			return made, err
		}
		if lost {
			made++
		}
	}
	return made, nil
}

// stateOf is the state of a start by its last sign of life.
func stateOf(sign string) string {
	switch sign {
	case pipelines.StartEnded, pipelines.StartDied:
		return sign
	default:
		return pipelines.StartLives
	}
}

// reclaimAtStart does so for a server that knows nothing at all, before a process of this host is served.
func (s *System) reclaimAtStart(ctx context.Context, client *Client) error {
	if s.cfg.Temporary {
		return nil
	}
	if known, err := pipelines.Sources(ctx, client.stream); err != nil || len(known) > 0 {
		return err
	}
	made, err := client.Reclaim(ctx)
	if text := made.String(); text != "" {
		s.cfg.Log.Error().Msg("the stream's server had lost, and it was made again from the tables: " + text)
	}
	return err
}
