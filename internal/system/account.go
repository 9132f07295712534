package system

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/tensortap/tensortap/consumers/clickhouse"
	"github.com/tensortap/tensortap/pipelines"
	"github.com/tensortap/tensortap/schemas"
)

// account is which batches each store has, by which it is known what one lacks. Definitions carry no batch in the tables:
// these have one when they have all of its rows.
type account struct {
	stream, tables, archive *schemas.Ledger
	archiveIn               string // folder; empty where no archive of this stream is on this host
	archiveConsumer         string
	tablesBefore            *schemas.Ledger            // what the tables had before the archive was looked at
	refused                 map[string]*schemas.Ledger // by consumer of `up`, what became dead letters
	keys                    map[schemas.Batches][]uint64
	definitions             bool                 // all of the archive's and of what was read of the stream
	rows                    map[runOfKind]uint64 // in the archive
	partial                 *schemas.Ledger      // batches of which the tables have another number of rows than the archive
	defined                 string               // the healer's fingerprint of definitions
	streamDamaged           error
	filesDamaged            []error
	finished                map[string]uint32   // what was published of files, as pipelines.Finished has it
	vanished                []string            // of these, what no store has
	partsDamaged            []clickhouse.Damage // of tables; what lies in them does not count
}

func newAccount() *account {
	return &account{
		stream: schemas.NewLedger(), archive: schemas.NewLedger(), keys: map[schemas.Batches][]uint64{},
		rows: map[runOfKind]uint64{}, partial: schemas.NewLedger(),
		refused: map[string]*schemas.Ledger{databaseConsumer: schemas.NewLedger(), archiveConsumer: schemas.NewLedger()},
	}
}

// reading notes what a store has.
type reading func(ctx context.Context, a *account) error

// take reads the stores. Events may land meanwhile: each store is read after what it must have. Every is how often the
// stream is asked whether a store has come so far.
func (c *Client) take(ctx context.Context, every time.Duration, stream, archive reading) (*account, error) {
	a := newAccount()
	if err := stream(ctx, a); err != nil {
		return nil, err
	}
	var err error
	if a.tablesBefore, err = c.heldTables(ctx, every, a.partsDamaged...); err != nil {
		return nil, err
	}
	if err := c.takeArchive(ctx, a, every, archive); err != nil {
		return nil, err
	}
	if a.tables, err = c.heldTables(ctx, every, a.partsDamaged...); err != nil {
		return nil, err
	}
	deleted, err := c.deletedParts(ctx)
	if err != nil {
		return nil, err
	}
	a.leaveOut(deleted)
	return a, errors.Join(c.addDefinitions(ctx, a), c.addPartial(ctx, a), c.addRefused(ctx, a), c.addVanished(ctx, a))
}

// takeArchive reads the archive, where it is on this host.
func (c *Client) takeArchive(ctx context.Context, a *account, every time.Duration, archive reading) error {
	folder, consumer, err := c.archiveHere(ctx)
	if err != nil || folder == "" {
		a.definitions = folder == ""
		return err
	}
	a.archiveIn, a.archiveConsumer = folder, consumer
	if err := pipelines.WaitStored(ctx, c.stream, 0, every, consumer); err != nil {
		return err
	}
	return archive(ctx, a)
}

// add notes a message of the stream or of the archive.
func (a *account) add(to *schemas.Ledger, m schemas.Message) error {
	batch := schemas.BatchOf(m.Header.Kind, m.Header.Identity)
	if to == a.archive && !to.Has(batch) {
		a.rows[runOf(batch)] += uint64(m.Header.Rows) //nolint:gosec // at least 1
	}
	to.Add(batch)
	table, _ := schemas.TableByKind(m.Header.Kind)
	if table.Class != schemas.Definition || a.keys[batch] != nil {
		return nil
	}
	record, err := m.Record()
	if bad := (*schemas.MalformedError)(nil); errors.As(err, &bad) {
		record, err = nil, nil // refused by the stores, as it must be
	}
	a.keys[batch] = []uint64{}
	if record != nil {
		a.keys[batch] = clickhouse.KeyHashes(table, record)
	}
	return err
}

// addDefinitions notes the batches of definitions all of whose rows the tables have.
func (c *Client) addDefinitions(ctx context.Context, a *account) error {
	stored := map[string]map[uint64]bool{}
	for batch, keys := range a.keys {
		if stored[batch.Kind] == nil {
			table, _ := schemas.TableByKind(batch.Kind)
			var err error
			if stored[batch.Kind], err = clickhouse.Keys(ctx, c.database, table, a.partsDamaged...); err != nil {
				return err
			}
		}
		if hasAll(stored[batch.Kind], keys) {
			a.tables.Add(batch)
		}
	}
	return nil
}

func hasAll(stored map[uint64]bool, keys []uint64) bool {
	for _, key := range keys {
		if !stored[key] {
			return false
		}
	}
	return true
}

const refusedQuery = `SELECT DISTINCT origin, headers['Nats-Msg-Id'] AS id FROM tap_store.dead_letter WHERE `

// addRefused notes what a store can never take: it is no loss.
func (c *Client) addRefused(ctx context.Context, a *account) error {
	table, err := c.Table(ctx, refusedQuery+clickhouse.Outside(a.partsDamaged, schemas.DeadLetter().Kind()), nil)
	if err != nil {
		return fmt.Errorf("look which messages were refused: %w", err)
	}
	tables, err := c.tableConsumers(ctx)
	if err != nil {
		return err
	}
	by := map[string]*schemas.Ledger{a.archiveConsumer: a.refused[archiveConsumer]}
	for _, consumer := range tables {
		by[consumer] = a.refused[databaseConsumer]
	}
	for i := range table.Rows {
		batch, err := schemas.BatchOfID(table.Get(i, "id").Exact)
		if refused := by[table.Get(i, "origin").Exact]; refused != nil && err == nil {
			refused.Add(batch)
		}
	}
	return nil
}

// onlyElsewhere are the batches that the stream or the archive has and the tables have not.
func (a *account) onlyElsewhere() []schemas.Batches {
	return append(a.tables.LacksOf(a.archive), a.tables.LacksOf(a.stream)...)
}

// tablesLack is what the stream or the archive has; of definitions where all were read.
func (a *account) tablesLack() *schemas.Ledger {
	lack := a.onlyElsewhere()
	if !a.definitions {
		lack = measurements(lack)
	}
	return schemas.NewLedger().With(lack...).Without(a.refused[databaseConsumer])
}

// tablesRefused is what the stream or the archive has and became a dead letter of the tables.
func (a *account) tablesRefused() *schemas.Ledger {
	lack := a.onlyElsewhere()
	taken := schemas.NewLedger().With(lack...).Without(a.refused[databaseConsumer])
	return schemas.NewLedger().With(lack...).Without(taken)
}

// measurements are those of the batches that tables know by their batch.
func measurements(batches []schemas.Batches) []schemas.Batches {
	return slices.DeleteFunc(batches, func(b schemas.Batches) bool {
		table, known := schemas.TableByKind(b.Kind)
		return !known || table.Class != schemas.Measurement
	})
}

// archiveLacks is what the stream has.
func (a *account) archiveLacks() *schemas.Ledger {
	if a.archiveIn == "" {
		return schemas.NewLedger()
	}
	return schemas.NewLedger().With(a.archive.LacksOf(a.stream)...).Without(a.refused[archiveConsumer])
}

// onlyInTables is what neither of the others has; also what others write to the same database.
func (a *account) onlyInTables() *schemas.Ledger {
	if a.archiveIn == "" {
		return schemas.NewLedger()
	}
	return schemas.NewLedger().With(a.archive.LacksOf(a.tablesBefore)...).Without(a.refused[archiveConsumer]).Without(a.stream)
}

// readStream notes what the stream has.
func (c *Client) readStream(ctx context.Context, a *account) error {
	if _, err := c.lookAtStream(ctx, a); err != nil {
		return err
	}
	return c.readBetween(ctx, a, 1, 0)
}

// readWhole notes what the stream has, and fails where it is damaged.
func (c *Client) readWhole(ctx context.Context, a *account) error {
	err := c.readBetween(ctx, a, 1, 0)
	return errors.Join(err, a.streamDamaged)
}

// readBetween notes what the stream has from one place to another.
func (c *Client) readBetween(ctx context.Context, a *account, from, to uint64) error {
	for message, err := range pipelines.Kept(ctx, c.stream, from, to) {
		switch {
		case errors.Is(err, pipelines.ErrUnreadable):
			a.streamDamaged = errors.Join(a.streamDamaged, err)
		case err != nil:
			return err
		default:
			if err := a.add(a.stream, message); err != nil {
				return err
			}
		}
	}
	return nil
}

// readArchive notes what the files have, with their checksums.
func (c *Client) readArchive(ctx context.Context, a *account) error {
	a.definitions = true
	for message, err := range archived(ctx, a.archiveIn) {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			a.filesDamaged = append(a.filesDamaged, err)
			continue
		}
		if err := a.add(a.archive, message); err != nil {
			return err
		}
	}
	return nil
}

// readParts notes which parts of tables are damaged, before another reading.
func (c *Client) readParts(then reading) reading {
	return func(ctx context.Context, a *account) error {
		var err error
		if a.partsDamaged, err = clickhouse.Damaged(ctx, c.database, 0, 1); err != nil {
			return err
		}
		return then(ctx, a)
	}
}

// heldTables is the set of batches in the tables, once they have what the stream holds now. Every is how often it asks.
func (c *Client) heldTables(ctx context.Context, every time.Duration, damaged ...clickhouse.Damage) (*schemas.Ledger, error) {
	if err := c.waitTables(ctx, 0, every); err != nil {
		return nil, err
	}
	return clickhouse.Held(ctx, c.database, damaged...)
}
