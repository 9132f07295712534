package system

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/tensortap/tensortap/consumers/clickhouse"
	"github.com/tensortap/tensortap/internal/audit"
	"github.com/tensortap/tensortap/internal/plural"
	"github.com/tensortap/tensortap/schemas"
)

// finishRebuild ends a rebuild that was killed, before anything reads the tables.
func (s *System) finishRebuild(ctx context.Context, client *Client) error {
	if s.cfg.Temporary {
		return nil
	}
	interrupted, err := clickhouse.FinishRebuild(ctx, client.database)
	switch {
	case err != nil:
		return err
	case interrupted == clickhouse.GaveUp:
		s.cfg.Log.Warn().Msg("a rebuild of the tables was interrupted and is given up, they are as they were")
	case interrupted == clickhouse.Finished:
		s.cfg.Log.Warn().Msg("a rebuild of the tables was interrupted and is finished now")
	}
	return nil
}

// refuseRebuild says that the tables stay as they are, and what to do.
func refuseRebuild(why error) error {
	err := fmt.Errorf("rebuild the tables: %w; nothing was changed; replay without --rebuild, or restore, to fill what the tables lack", why)
	if errors.Is(why, ErrStreamCut) || errors.Is(why, ErrStreamDamaged) {
		return audit.Refuse(err)
	}
	return err
}

// exchange puts new tables in the place of the old ones.
func (s *System) exchange(ctx context.Context, client *Client, next *clickhouse.Rebuild) error {
	if err := next.Exchange(ctx); err != nil {
		return fmt.Errorf("rebuild the tables: %w; the next start ends it", err)
	}
	return s.migrate(ctx, client)
}

// dropPatience bounds the removal of new tables that are of no use. What it leaves, the next start removes.
const dropPatience = 30 * time.Second

// refill fills new tables from the stream, and returns them once they lack nothing that the old ones have.
func (s *System) refill(ctx context.Context, client *Client, store *archive) (*clickhouse.Rebuild, error) {
	if err := s.holdsAll(ctx, client, store); err != nil {
		return nil, err
	}
	next, err := clickhouse.BeginRebuild(ctx, client.database)
	if err != nil {
		return nil, err
	}
	err = s.fill(ctx, client, next)
	if err == nil {
		err = s.compareTables(ctx, client, next)
	}
	if err != nil {
		dropping, cancel := context.WithTimeout(context.WithoutCancel(ctx), dropPatience)
		defer cancel()
		return nil, errors.Join(err, next.Drop(dropping))
	}
	return next, nil
}

// holdsAll checks that the stream has all batches that the tables and the archive have.
func (s *System) holdsAll(ctx context.Context, client *Client, store *archive) error {
	stream, err := client.streamInfo(ctx)
	if err != nil {
		return err
	}
	state := stream.State
	removed := s.cfg.Folder.purged().Covers(stream.Created.UnixNano(), state.FirstSeq)
	if !removed || state.Msgs == 0 {
		return fmt.Errorf("%w (it holds %d, from %d on)", ErrStreamCut, state.Msgs, state.FirstSeq)
	}
	a := newAccount()
	if err := client.readWhole(ctx, a); err != nil {
		return err
	}
	tables, err := clickhouse.Held(ctx, client.database)
	if err != nil {
		return err
	}
	lost := a.stream.LacksOf(tables)
	if store != nil {
		lost = append(lost, a.stream.LacksOf(store.writer.Held())...)
	}
	if len(lost) == 0 {
		return nil
	}
	return fmt.Errorf("%w: %s", ErrStreamDamaged, client.describe(ctx, schemas.NewLedger().With(lost...)))
}

// compareTables refuses new tables that lack what the old ones have, and says where else they differ.
func (s *System) compareTables(ctx context.Context, client *Client, next *clickhouse.Rebuild) error {
	differences, err := next.Differences(ctx)
	if err != nil || len(differences) == 0 {
		return err
	}
	s.leaveOrphans(differences)
	names := client.namesByID(ctx)
	if lost := describeDifferences(differences, names, func(d clickhouse.Difference) uint64 { return d.Lost }); lost != "" {
		return fmt.Errorf("%w: %s", ErrStreamDamaged, lost)
	}
	if gained := describeDifferences(differences, names, func(d clickhouse.Difference) uint64 { return d.Gained }); gained != "" {
		s.cfg.Log.Warn().Str("tables", gained).Msg("the tables lacked what the stream has, and get it")
	}
	if changed := describeDifferences(differences, names, func(d clickhouse.Difference) uint64 { return d.Changed }); changed != "" {
		s.cfg.Log.Warn().Str("tables", changed).Msg("the tables say other than the stream, and are mended")
	}
	return nil
}

// leaveOrphans forgives that the new tables lack definitions which several runs may share, where runs were deleted: the
// stream has all batches of the archive, so they were of deleted runs alone.
func (s *System) leaveOrphans(differences []clickhouse.Difference) {
	if len(s.deleted.Runs()) == 0 {
		return
	}
	for i := range differences {
		if differences[i].Table.Class == schemas.Definition && differences[i].RunID == 0 {
			differences[i].Lost = 0
		}
	}
}

// describeDifferences names tables and runs; empty where the count is 0 in all.
func describeDifferences(all []clickhouse.Difference, names map[string]string, count func(clickhouse.Difference) uint64) string {
	var texts []string
	for _, d := range all {
		if count(d) > 0 {
			texts = append(texts, describeDifference(d, names, count(d)))
		}
	}
	if more := len(texts) - mostNamed; more > 0 {
		texts = append(texts[:mostNamed], fmt.Sprintf("%d more", more))
	}
	return strings.Join(texts, "; ")
}

func describeDifference(d clickhouse.Difference, names map[string]string, count uint64) string {
	unit := "batch"
	if d.Table.Class == schemas.Definition {
		unit = "row"
	}
	text := plural.Of(count, unit) + " of " + d.Table.Kind()
	if d.RunID == 0 {
		return text
	}
	id := schemas.FormatID(d.RunID)
	if name, known := names[id]; known {
		id = name
	}
	return text + " of run " + id
}
