package health

import (
	"context"
	"fmt"
	"syscall"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/tensortap/tensortap/consumers/clickhouse"
)

type inserted = clickhouse.Counts

func insertNumbers() []number[inserted] {
	return []number[inserted]{
		counter("tables_inserts", "INSERTs of this process that went through.", func(c *inserted) float64 { return float64(c.Inserts) }),
		counter("tables_messages", "Messages stored in tables by this process.", func(c *inserted) float64 { return float64(c.Messages) }),
		counter("tables_stored_rows", "Rows stored in tables by this process.", func(c *inserted) float64 { return float64(c.Rows) }),
		counter("tables_duplicates", "Messages that the tables had already, or that came twice at once: stored once.", func(c *inserted) float64 { return float64(c.Duplicates) }),
		counter("tables_doubts", "INSERTs whose outcome had to be looked up in the tables.", func(c *inserted) float64 { return float64(c.Doubts) }),
		counter("tables_resolved", "Messages of INSERTs whose outcome had to be looked up that turned out to be stored.", func(c *inserted) float64 { return float64(c.Resolved) }),
	}
}

// Inserts takes the writer of the tables.
func (h *Health) Inserts(read func() clickhouse.Counts) {
	h.has("inserts", func(_ context.Context, tell func(prometheus.Metric)) {
		c := read()
		tellEach(tell, insertNumbers(), &c)
	})
}

// table is what a table takes, as the database has it.
type table struct {
	name               string
	parts, rows, bytes float64
}

func tableNumbers() []number[table] {
	return []number[table]{
		gauge("table_parts", "Active parts of a table; the database refuses INSERTs into a partition of some thousands.", func(t *table) float64 { return t.parts }),
		gauge("table_rows", "Rows of a table, those of superseded definitions included.", func(t *table) float64 { return t.rows }),
		gauge("table_bytes", "Bytes of a table on the disk.", func(t *table) float64 { return t.bytes }),
	}
}

// tablesQuery has a row for each table, also for an empty one.
const tablesQuery = `SELECT t.name, toFloat64(countIf(p.active)), toFloat64(sumIf(p.rows, p.active)), toFloat64(sumIf(p.bytes_on_disk, p.active))
FROM system.tables AS t
LEFT JOIN system.parts AS p ON p.database = t.database AND p.table = t.name
WHERE t.database = 'tap_store' AND t.engine LIKE '%MergeTree'
GROUP BY t.name
ORDER BY t.name`

// Tables takes the database with all its tables.
func (h *Health) Tables(database driver.Conn) {
	h.has("tables", func(ctx context.Context, tell func(prometheus.Metric)) {
		_ = eachTable(ctx, database, func(t *table) { tellEach(tell, tableNumbers(), t, label{"table", t.name}) }) // server_up tells of a database that is away
	})
}

func eachTable(ctx context.Context, database driver.Conn, tell func(*table)) error {
	rows, err := database.Query(ctx, tablesQuery)
	if err != nil {
		return fmt.Errorf("list tables with their parts: %w", err)
	}
	defer rows.Close() //nolint:errcheck // only read
	for rows.Next() {
		var t table
		if err := rows.Scan(&t.name, &t.parts, &t.rows, &t.bytes); err != nil {
			return fmt.Errorf("list tables with their parts: %w", err)
		}
		tell(&t)
	}
	return rows.Err()
}

// Archived is the work of the writer of the archive since it was opened.
type Archived struct{ Files, Rows, Bytes, Duplicates, Rejected uint64 }

func archiveNumbers() []number[Archived] {
	return []number[Archived]{
		counter("archive_files", "Files of the archive made by this process.", func(s *Archived) float64 { return float64(s.Files) }),
		counter("archive_stored_rows", "Rows stored in the archive by this process.", func(s *Archived) float64 { return float64(s.Rows) }),
		counter("archive_bytes", "Bytes of the files made by this process.", func(s *Archived) float64 { return float64(s.Bytes) }),
		counter("archive_duplicates", "Messages that the archive had already: stored once.", func(s *Archived) float64 { return float64(s.Duplicates) }),
	}
}

// Archive takes the writer of the archive.
func (h *Health) Archive(read func() Archived) {
	h.has("archive", func(_ context.Context, tell func(prometheus.Metric)) {
		s := read()
		tellEach(tell, archiveNumbers(), &s)
	})
}

// disk is the file system of a folder.
type disk struct{ free, size float64 }

func diskNumbers() []number[disk] {
	return []number[disk]{
		gauge("disk_free_bytes", "Bytes that are free on the disk of the data folder.", func(d *disk) float64 { return d.free }),
		gauge("disk_size_bytes", "Bytes of the disk of the data folder.", func(d *disk) float64 { return d.size }),
	}
}

// Disk takes the folder of data.
func (h *Health) Disk(folder string) {
	h.has("disk", func(_ context.Context, tell func(prometheus.Metric)) {
		var of syscall.Statfs_t
		if syscall.Statfs(folder, &of) != nil {
			return
		}
		block := float64(of.Bsize)
		tellEach(tell, diskNumbers(), &disk{free: float64(of.Bavail) * block, size: float64(of.Blocks) * block})
	})
}
