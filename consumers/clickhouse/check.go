package clickhouse

import (
	"context"
	"errors"
	"fmt"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"github.com/tensortap/tensortap/schemas"
)

// CheckTables compares the columns of the live tables with those declared, and
// says which migration is missing. A table may have more columns than that.
func CheckTables(ctx context.Context, conn driver.Conn) error {
	live, err := liveColumns(ctx, conn)
	if err != nil {
		return err
	}
	var faults []error
	for _, table := range schemas.Tables() {
		faults = append(faults, compareColumns(table, live[table.Kind()]))
	}
	if err := errors.Join(faults...); err != nil {
		return fmt.Errorf("tables do not fit this program, a migration in sql/tables is missing; to make them anew of the archive, stop tensortap, move the folder clickhouse of the data folder away, "+
			"but keep it, and run `tensortap restore`: %w", err)
	}
	return nil
}

// liveColumns is table, column and type.
func liveColumns(ctx context.Context, conn driver.Conn) (map[string]map[string]string, error) {
	rows, err := conn.Query(ctx, "SELECT table, name, type FROM system.columns WHERE database = '"+storeDatabase+"'")
	if err != nil {
		return nil, fmt.Errorf("list columns: %w", err)
	}
	live := make(map[string]map[string]string)
	for rows.Next() {
		var table, name, typ string
		if err := rows.Scan(&table, &name, &typ); err != nil {
			return nil, errors.Join(fmt.Errorf("list columns: %w", err), rows.Close())
		}
		if live[table] == nil {
			live[table] = make(map[string]string)
		}
		live[table][name] = typ
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		return nil, fmt.Errorf("list columns: %w", err)
	}
	return live, nil
}

func compareColumns(table schemas.Table, live map[string]string) error {
	name := storeDatabase + "." + table.Kind()
	if live == nil {
		return fmt.Errorf("CREATE TABLE %s: there is no such table", name)
	}
	var faults []error
	for _, c := range table.Columns {
		want := c.ClickHouse()
		switch got, found := live[c.Name]; {
		case !found:
			faults = append(faults, fmt.Errorf("ALTER TABLE %s ADD COLUMN `%s` %s: there is no such column", name, c.Name, want))
		case got != want:
			faults = append(faults, fmt.Errorf("ALTER TABLE %s MODIFY COLUMN `%s` %s: it is %s", name, c.Name, want, got))
		}
	}
	return errors.Join(faults...)
}
