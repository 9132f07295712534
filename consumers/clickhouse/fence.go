package clickhouse

import (
	"context"
	"fmt"
	"strings"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"github.com/tensortap/tensortap/schemas"
)

// Fence lets one process at a time write under a name. Each INSERT of a writer behind it asks, as the server begins it,
// whether the name is still that process's. So one that began before the name was claimed by another is ended by the
// other's first look (settle), and one that begins later stores nothing, however long its request was on its way or its
// process was stopped.
type Fence struct {
	Name   string
	Holder string
}

// Claim makes the name the holder's, which no other process may be called.
func Claim(ctx context.Context, conn driver.Conn, name, holder string) (Fence, error) {
	f := Fence{Name: name, Holder: holder}
	for _, sql := range []string{
		"CREATE TABLE IF NOT EXISTS " + writerTable + " (name String, term UInt64, holder String, claimed_time DateTime64(3, 'UTC') DEFAULT now64(3)) " +
			"ENGINE = ReplacingMergeTree(term) ORDER BY name SETTINGS fsync_after_insert = 1, fsync_part_directory = 1 COMMENT 'Which process may write which part of the stream.'",
		fmt.Sprintf("INSERT INTO %s (name, term, holder) SELECT %s, max(term) + 1, %s FROM %[1]s WHERE name = %[2]s SETTINGS async_insert = 0",
			writerTable, quote(name), quote(holder)),
	} {
		if err := conn.Exec(ctx, sql); err != nil {
			return f, fmt.Errorf("claim the tables as %s: %w", name, err)
		}
	}
	return f, nil
}

// Mine says whether no other process has claimed the name since.
func (f Fence) Mine(ctx context.Context, conn driver.Conn) (bool, error) {
	var holder string
	sql := fmt.Sprintf("SELECT argMax(holder, (term, holder)) FROM %s WHERE name = %s", writerTable, quote(f.Name))
	if err := conn.QueryRow(ctx, sql).Scan(&holder); err != nil {
		return false, fmt.Errorf("look who writes the tables as %s: %w", f.Name, err)
	}
	return holder == f.Holder, nil
}

// writerTable has the last term of each name.
const writerTable = storeDatabase + ".writer"

// Fenced says whether an INSERT was refused as another process has claimed the writer's name since. To write again
// takes another claim and another Writer: this one may remember too little.
func Fenced(err error) bool { return hasCode(err, throwIfNotZero) }

// into is the INSERT into a table from behind the fence. The driver passes on what follows the settings as it is, but would
// drop it without them.
func (f Fence) into(name string, declared schemas.Table) string {
	var columns []string
	for _, c := range declared.Columns {
		columns = append(columns, "`"+c.Name+"` "+c.ClickHouse())
	}
	const refusal = "another process writes here by now"
	return fmt.Sprintf("INSERT INTO %s (%s) SETTINGS async_insert = 0 SELECT %[2]s FROM input(%s) "+
		"WHERE throwIf(assumeNotNull((SELECT argMax(holder, (term, holder)) FROM %s WHERE name = %s)) != %s, %s) = 0",
		name, columnList(declared), quote(strings.Join(columns, ", ")), writerTable, quote(f.Name), quote(f.Holder), quote(refusal))
}
