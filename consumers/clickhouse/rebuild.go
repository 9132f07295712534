package clickhouse

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"github.com/tensortap/tensortap/schemas"
)

// nextDatabase holds the new tables while they are filled, and the old ones for a moment after the exchange. Its comment
// tells it from a database of that name that somebody else made.
const (
	nextDatabase = "tap_store_next"
	nextComment  = "Tables of tensortap replay --rebuild, which makes and drops this database."
)

// decidedTable lists the new tables by their ids. Once it has rows, the exchange is carried out, whoever is killed.
const decidedTable = "decided_exchange"

// Rebuild is a second set of the tables of events, beside those in use. Tables that users fill are not among them: no
// stream could bring their rows back. No Writer of the tables in use may run until the Rebuild is exchanged or dropped.
type Rebuild struct {
	conn   driver.Conn
	writer *Writer
}

// BeginRebuild makes the new tables, which are empty.
func BeginRebuild(ctx context.Context, conn driver.Conn) (*Rebuild, error) {
	cfg := DefaultConfig()
	cfg.Name = "rebuild"
	writer, err := newWriter(cfg, conn, nextDatabase)
	if err != nil {
		return nil, err
	}
	if err := conn.Exec(ctx, "CREATE DATABASE "+nextDatabase+" ENGINE = Atomic COMMENT "+quote(nextComment)); err != nil {
		return nil, fmt.Errorf("make new tables: %w", err)
	}
	r := &Rebuild{conn: conn, writer: writer}
	for _, name := range rebuilt() {
		if err := conn.Exec(ctx, "CREATE TABLE "+nextDatabase+".`"+name+"` AS "+storeDatabase+".`"+name+"`"); err != nil {
			return nil, errors.Join(fmt.Errorf("make new table %s: %w", name, err), r.Drop(ctx))
		}
	}
	if err := r.keepAggregates(ctx); err != nil {
		return nil, errors.Join(err, r.Drop(ctx))
	}
	return r, nil
}

// keepAggregates copies what is added up of tensors that were removed since: nothing makes it again.
func (r *Rebuild) keepAggregates(ctx context.Context) error {
	err := r.conn.Exec(ctx, fmt.Sprintf("INSERT INTO %s.%s SETTINGS async_insert = 0 SELECT * FROM %s.%[2]s WHERE run_id IN (SELECT run_id FROM %[3]s.%s)",
		nextDatabase, derivedTable, storeDatabase, removedPartsTable))
	if err != nil {
		return fmt.Errorf("copy what is added up of removed tensors: %w", err)
	}
	return nil
}

// rebuilt are the names of the tables that a stream fills, and of the derived table.
func rebuilt() []string {
	names := []string{derivedTable}
	for _, table := range fromStream() {
		names = append(names, table.Kind())
	}
	return names
}

func fromStream() []schemas.Table {
	return slices.DeleteFunc(schemas.Tables(), func(t schemas.Table) bool { return t.Kind() == schemas.KnownException().Kind() })
}

// Write stores messages of one kind in the new tables, as Writer.Write does.
func (r *Rebuild) Write(ctx context.Context, messages []schemas.Message) error {
	if len(messages) > 0 && messages[0].Header.Kind == schemas.KnownException().Kind() {
		return nil // the table stays as it is
	}
	return r.writer.Write(ctx, messages)
}

// Exchange puts the new tables in the place of the old ones and drops these. Once it has begun, a process that is
// killed leaves the rest to FinishRebuild. Migrate has to follow: it makes the view again that fills the derived table.
func (r *Rebuild) Exchange(ctx context.Context) error {
	for _, sql := range []string{
		"CREATE TABLE " + nextDatabase + "." + decidedTable + " (name String, uuid UUID) ENGINE = MergeTree ORDER BY name " +
			"SETTINGS fsync_after_insert = 1, fsync_part_directory = 1",
		"INSERT INTO " + nextDatabase + "." + decidedTable + " SELECT name, uuid FROM system.tables " +
			"WHERE database = '" + nextDatabase + "' AND name != '" + decidedTable + "'", // one block, so all or none
	} {
		if err := r.conn.Exec(ctx, sql); err != nil {
			return fmt.Errorf("note that tables are exchanged: %w", err)
		}
	}
	return exchange(ctx, r.conn)
}

// Drop removes the new tables. It must not follow an Exchange.
func (r *Rebuild) Drop(ctx context.Context) error { return dropNext(ctx, r.conn) }

// Interrupted says what became of a Rebuild whose process was killed.
type Interrupted uint8

// What FinishRebuild found.
const (
	NotInterrupted Interrupted = iota
	GaveUp                     // the tables are as they were
	Finished                   // the new tables are in their place
)

// FinishRebuild drops the new tables of a Rebuild that was killed, or finishes their exchange if that had begun. Nobody
// may read the tables before it.
func FinishRebuild(ctx context.Context, conn driver.Conn) (Interrupted, error) {
	var there, decided uint64
	err := conn.QueryRow(ctx, "SELECT (SELECT count() FROM system.databases WHERE name = '"+nextDatabase+"' AND comment = "+quote(nextComment)+"), "+
		"(SELECT count() FROM system.tables WHERE database = '"+nextDatabase+"' AND name = '"+decidedTable+"' AND total_rows > 0)").Scan(&there, &decided)
	switch {
	case err != nil:
		return NotInterrupted, fmt.Errorf("look for an exchange of tables that was interrupted: %w", err)
	case there == 0:
		return NotInterrupted, nil
	case decided == 0:
		return GaveUp, dropNext(ctx, conn)
	}
	return Finished, exchange(ctx, conn)
}

// exchange carries out what is decided. Each table is exchanged by one atomic step, and once.
func exchange(ctx context.Context, conn driver.Conn) error {
	// What it adds up of the old tables must not go into the new one.
	if err := conn.Exec(ctx, "DROP VIEW IF EXISTS "+storeDatabase+"."+derivingView+" SYNC"); err != nil {
		return fmt.Errorf("stop the view that fills %s.%s: %w", storeDatabase, derivedTable, err)
	}
	var names []string
	err := eachRow(ctx, conn, "SELECT name FROM "+nextDatabase+"."+decidedTable+" WHERE uuid NOT IN ("+
		"SELECT uuid FROM system.tables WHERE database = '"+storeDatabase+"') ORDER BY name", func(rows driver.Rows) error {
		names = append(names, "")
		return rows.Scan(&names[len(names)-1])
	})
	if err != nil {
		return fmt.Errorf("list tables to exchange: %w", err)
	}
	for _, name := range names {
		if err := conn.Exec(ctx, "EXCHANGE TABLES "+storeDatabase+".`"+name+"` AND "+nextDatabase+".`"+name+"`"); err != nil {
			return fmt.Errorf("exchange table %s for the new one: %w", name, err)
		}
	}
	return dropNext(ctx, conn)
}

// dropNext gives the room back, at once and however much it is.
func dropNext(ctx context.Context, conn driver.Conn) error {
	sql := "DROP DATABASE IF EXISTS " + nextDatabase + " SYNC SETTINGS max_table_size_to_drop = 0, max_partition_size_to_drop = 0"
	if err := conn.Exec(ctx, sql); err != nil {
		return fmt.Errorf("drop database %s: %w", nextDatabase, err)
	}
	return nil
}
