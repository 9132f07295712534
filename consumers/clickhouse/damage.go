package clickhouse

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"github.com/tensortap/tensortap/schemas"
)

// Damage is a part of a table that cannot be read, or has rows that it must not have.
type Damage struct{ Table, Part, Reason string }

// String names table and part.
func (d Damage) String() string {
	return fmt.Sprintf("part %s of table %s: %s", d.Part, d.Table, d.Reason)
}

// Filled says whether archive and stream have the rows of a table. Users fill the table of known exceptions, which neither has.
func Filled(table string) bool { return table != schemas.KnownException().Kind() }

// Damaged reads that one of so many shares of the parts of all tables with their checksums, and looks at all of them for
// columns of other tables. Parts may be merged meanwhile. On a server that does not let its user look at parts there are none.
func Damaged(ctx context.Context, conn driver.Conn, share, shares uint64) ([]Damage, error) {
	damaged, err := foreign(ctx, conn)
	if err == nil {
		damaged, err = appendUnreadable(ctx, conn, damaged, share, shares)
	}
	if err != nil && !hasCode(err, accessDenied) {
		return nil, fmt.Errorf("read the parts of the tables: %w", err)
	}
	return damaged, nil
}

// foreign are parts of other tables. The engine takes them, with defaults for the columns that they lack. While a table is
// being altered, its own parts may have columns that it no longer has, and where rows were deleted a mask of those.
func foreign(ctx context.Context, conn driver.Conn) ([]Damage, error) {
	return parts(ctx, conn, "it has columns of another table", "SELECT DISTINCT table, name FROM system.parts_columns "+
		"WHERE database = '"+storeDatabase+"' AND active AND column != '_row_exists' AND (table, column) NOT IN ("+
		"SELECT table, name FROM system.columns WHERE database = '"+storeDatabase+"') AND table NOT IN ("+
		"SELECT table FROM system.mutations WHERE database = '"+storeDatabase+"' AND NOT is_done) ORDER BY table, name")
}

// parts are those that a query returns, with their tables.
func parts(ctx context.Context, conn driver.Conn, reason, sql string) ([]Damage, error) {
	var found []Damage
	err := eachRow(ctx, conn, sql, func(rows driver.Rows) error {
		d := Damage{Reason: reason}
		err := rows.Scan(&d.Table, &d.Part)
		found = append(found, d)
		return err
	})
	return found, err
}

// appendUnreadable has the engine hold parts and their projections against the checksums that lie beside them.
func appendUnreadable(ctx context.Context, conn driver.Conn, damaged []Damage, share, shares uint64) ([]Damage, error) {
	all, err := parts(ctx, conn, "", fmt.Sprintf("SELECT table, name FROM system.parts WHERE database = '%s' AND active "+
		"AND cityHash64(table, name) %% %d = %d ORDER BY table, name", storeDatabase, shares, share))
	if err != nil {
		return nil, err
	}
	for _, d := range all {
		sql := "CHECK TABLE " + storeDatabase + ".`" + d.Table + "` PART " + quote(d.Part)
		err := eachRow(checking(ctx), conn, sql, func(rows driver.Rows) error {
			var passed uint8
			err := rows.Scan(&d.Part, &passed, &d.Reason)
			if passed == 0 {
				d.Reason, _, _ = strings.Cut(d.Reason, ", Stack trace")
				damaged = append(damaged, d)
			}
			return err
		})
		if err != nil && !hasCode(err, noSuchDataPart) {
			return nil, err
		}
	}
	return damaged, nil
}

func checking(ctx context.Context) context.Context {
	return clickhouse.Context(ctx, clickhouse.WithSettings(clickhouse.Settings{"check_query_single_value_result": 0}))
}

// Unreadable says whether a query failed over damaged files of a table.
func Unreadable(err error) bool {
	return hasCode(err,
		32, 33, // ATTEMPT_TO_READ_AFTER_EOF, CANNOT_READ_ALL_DATA
		40, 246, 271, 432, // CHECKSUM_DOESNT_MATCH, CORRUPTED_DATA, CANNOT_DECOMPRESS, UNKNOWN_CODEC
		76, 107, 226, 227, // CANNOT_OPEN_FILE, FILE_DOESNT_EXIST, NO_FILE_IN_DATA_PART, BAD_SIZE_OF_FILE_IN_DATA_PART
		117, // INCORRECT_DATA
	)
}

// Outside is the condition that a row lies in none of the damaged parts.
func Outside(damaged []Damage, table string) string {
	var names []string
	for _, d := range damaged {
		if d.Table == table {
			names = append(names, quote(d.Part))
		}
	}
	if len(names) == 0 {
		return "1"
	}
	return "_part NOT IN (" + strings.Join(names, ", ") + ")"
}

// Detach takes a part out of its table and keeps it in the table's folder detached. One that is no longer there is no error.
func Detach(ctx context.Context, conn driver.Conn, d Damage) error {
	err := conn.Exec(ctx, "ALTER TABLE "+storeDatabase+".`"+d.Table+"` DETACH PART "+quote(d.Part))
	if err != nil && !hasCode(err, noSuchDataPart) {
		return fmt.Errorf("detach %v: %w", d, err)
	}
	return nil
}

// DetachedByEngine are the parts that the engine has taken out of the tables by itself since then, as it could not load them.
func DetachedByEngine(ctx context.Context, conn driver.Conn, since time.Time) ([]Damage, error) {
	found, err := parts(ctx, conn, "the engine could not load it, and moved it to the table's folder detached", fmt.Sprintf(
		"SELECT table, name FROM system.detached_parts WHERE database = '%s' AND (reason LIKE '%%broken%%' OR reason = 'unexpected') "+
			"AND toUnixTimestamp(modification_time) >= %d ORDER BY table, name", storeDatabase, since.Unix()))
	if err != nil && !hasCode(err, accessDenied) {
		return nil, fmt.Errorf("look which parts the engine could not load: %w", err)
	}
	return found, nil
}
