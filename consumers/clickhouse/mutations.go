package clickhouse

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
)

const (
	fastestLook = 10 * time.Millisecond // at mutations at first, and then twice as long each time
	slowestLook = time.Second
	noRoomFor   = 5 * time.Second // until that is told
)

// mutations are those of a table that are not done.
type mutations struct {
	unfinished       uint64
	failure          string // why one of them failed the last time
	partsWithoutRoom uint64 // which the engine does not begin to write anew: it waits for room, without a word
}

// DeleteRows removes the rows of a table for which a condition holds, and returns once they are gone. It spares a table without such
// rows the mutation. Its error says that a mutation fails, or finds no room; the engine goes on with that by itself.
func DeleteRows(ctx context.Context, conn driver.Conn, table, condition string) error {
	if err := deleteRows(ctx, conn, table, condition); err != nil {
		return fmt.Errorf("remove rows from table %s: %w", table, err)
	}
	return nil
}

func deleteRows(ctx context.Context, conn driver.Conn, table, condition string) error {
	name, synced := storeDatabase+"."+table, 0
	err := awaitMutations(ctx, conn, table) // one of an earlier process may be what removes them
	if hasCode(err, accessDenied) {         // of a server elsewhere, whose user may not see them
		err, synced = nil, 2
	}
	if err != nil {
		return err
	}
	var some, replicated uint64 // a replica may list a mutation late, so that the engine waits for it itself
	err = conn.QueryRow(ctx, "SELECT (SELECT count() FROM (SELECT 1 FROM "+name+" WHERE "+condition+" LIMIT 1)), "+
		"(SELECT count() FROM system.tables WHERE database = '"+storeDatabase+"' AND name = '"+table+"' AND startsWith(engine, 'Replicated'))").Scan(&some, &replicated)
	if err != nil {
		return fmt.Errorf("look for them: %w", err)
	}
	if some == 0 {
		return nil
	}
	if replicated > 0 {
		synced = 2
	}
	if err := conn.Exec(ctx, fmt.Sprintf("ALTER TABLE %s DELETE WHERE %s SETTINGS mutations_sync = %d", name, condition, synced)); err != nil || synced > 0 {
		return err
	}
	return awaitMutations(ctx, conn, table)
}

// awaitMutations returns once no mutation of a table is under way, also of a process before this one.
func awaitMutations(ctx context.Context, conn driver.Conn, table string) error {
	without := time.Duration(0)
	for pause := fastestLook; ; pause = min(2*pause, slowestLook) {
		m, err := readMutations(ctx, conn, table)
		switch {
		case err != nil || m.unfinished == 0:
			return err
		case m.failure != "":
			return fmt.Errorf("the engine tries again: %s", m.failure)
		case m.partsWithoutRoom == 0:
			without = 0
		case without >= noRoomFor:
			return errors.New("no space left on device: the disk of the tables has no room to write parts of it anew")
		}
		select {
		case <-time.After(pause):
			without += pause
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// readMutations counts parts without room only while nothing is written anew: that has reserved its room, and gives some back.
func readMutations(ctx context.Context, conn driver.Conn, table string) (m mutations, err error) {
	of := " WHERE database = '" + storeDatabase + "' AND table = '" + table + "'"
	unfinished := " FROM system.mutations" + of + " AND NOT is_done"
	err = conn.QueryRow(ctx, "SELECT (SELECT count()"+unfinished+"), (SELECT max(latest_fail_reason)"+unfinished+"), "+
		"(SELECT if((SELECT count() FROM system.merges"+of+") > 0, 0, count()) FROM system.parts INNER JOIN system.disks AS disk ON disk.name = disk_name"+of+
		" AND active AND disk.unreserved_space < 1.1 * bytes_on_disk AND system.parts.name IN (SELECT arrayJoin(parts_to_do_names)"+unfinished+"))").
		Scan(&m.unfinished, &m.failure, &m.partsWithoutRoom)
	if err != nil {
		return m, fmt.Errorf("look for mutations: %w", err)
	}
	return m, nil
}
