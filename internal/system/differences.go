package system

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/tensortap/tensortap/pipelines"
	"github.com/tensortap/tensortap/schemas"
)

// holdAgainst holds the tables and the archive against each other, once both have what the stream held at the start, and
// says what one of them has lost.
func (s *System) holdAgainst(ctx context.Context, client *Client, store *archive) {
	tablesLack, archiveLacks, err := differences(ctx, client, store)
	if ctx.Err() != nil {
		return // the next start says it
	}
	if err != nil {
		s.cfg.Log.Warn().Err(err).Msg("not known whether tables and archive hold the same")
		return
	}
	if len(tablesLack) > 0 {
		s.cfg.Log.Error().Str("lost", client.describe(ctx, schemas.NewLedger().With(tablesLack...))).
			Msg("the tables lack events that the archive has: stop `tensortap up` and run `tensortap restore`")
	}
	if len(archiveLacks) > 0 && s.engine != nil { // a server elsewhere may have runs of others
		s.cfg.Log.Error().Str("lost", client.describe(ctx, schemas.NewLedger().With(archiveLacks...))).
			Msg("the archive lacks events that the tables have: stop `tensortap up` and run `tensortap replay`, which fetches what the stream still has")
	}
}

// differences are the batches of measurements that one store has and the other lacks.
func differences(ctx context.Context, client *Client, store *archive) (tablesLack, archiveLacks []schemas.Batches, err error) {
	tables, err := client.heldTables(ctx, caughtUpEvery)
	if err != nil {
		return nil, nil, err
	}
	for _, b := range measurements(slices.Clone(store.atStart)) {
		tablesLack = append(tablesLack, tables.Lacks(b)...)
	}
	// What came to the tables meanwhile may not be in the archive yet.
	err = pipelines.WaitStored(ctx, client.stream, 0, caughtUpEvery, archiveConsumer)
	return tablesLack, store.writer.Held().LacksOf(tables), err
}

// remedy adds to an error of a start what to do where files are damaged.
func (s *System) remedy(err error) error {
	var ended *exec.ExitError
	if s.engine != nil && errors.As(err, &ended) {
		return fmt.Errorf("%w\nif files of the engine are damaged, move %s away and run `tensortap restore`: it makes the tables again", err, s.cfg.Folder.clickhouse())
	}
	var refused *jetstream.APIError
	if s.nats != nil && errors.As(err, &refused) && refused.ErrorCode == jetstream.JSErrCodeConsumerCreate {
		consumers := filepath.Join(s.cfg.Folder.nats(), "jetstream", "*", "streams", pipelines.StreamName, "obs")
		return fmt.Errorf("%w\nif its files are damaged, remove %s and start again: the stream is delivered once more, and nothing is stored twice", err, consumers)
	}
	return err
}
