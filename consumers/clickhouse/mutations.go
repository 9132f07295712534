package clickhouse

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
)

// A mutation that has no room waits for it within the engine, without a word.
const (
	mutationLook   = 10 * time.Millisecond // at first, and then twice as long each time
	mutationSeldom = time.Second
	narrowFor      = 5 * time.Second // until that is told
)

// mutations are those of a table that are not done.
type mutations struct {
	unfinished uint64
	failure    string // why one of them failed the last time
	narrow     uint64 // parts for which the disk has no room, as the engine reckons before it begins
}

// awaitMutations returns once no mutation of a table is under way, also of a process before this one. Its error says that one fails, or
// finds no room; the engine goes on with it by itself.
func awaitMutations(ctx context.Context, conn driver.Conn, table string) error {
	narrow := time.Duration(0)
	for pause := mutationLook; ; pause = min(2*pause, mutationSeldom) {
		m, err := lookForMutations(ctx, conn, table)
		switch {
		case err != nil || m.unfinished == 0:
			return err
		case m.failure != "":
			return fmt.Errorf("the engine tries again: %s", m.failure)
		case m.narrow == 0:
			narrow = 0
		case narrow >= narrowFor:
			return errors.New("no space left on device: the disk of the tables has no room to write parts of it anew")
		}
		select {
		case <-time.After(pause):
			narrow += pause
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func lookForMutations(ctx context.Context, conn driver.Conn, table string) (m mutations, err error) {
	of := " WHERE database = '" + storeDatabase + "' AND table = '" + table + "' AND "
	err = conn.QueryRow(ctx, "SELECT (SELECT count() FROM system.mutations"+of+"NOT is_done), "+
		"(SELECT max(latest_fail_reason) FROM system.mutations"+of+"NOT is_done), "+
		"(SELECT count() FROM system.parts INNER JOIN system.disks AS disk ON disk.name = disk_name"+of+"active AND disk.unreserved_space < 1.1 * bytes_on_disk)").
		Scan(&m.unfinished, &m.failure, &m.narrow)
	if err != nil {
		return m, fmt.Errorf("look for mutations: %w", err)
	}
	return m, nil
}
