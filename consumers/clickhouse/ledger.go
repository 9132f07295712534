package clickhouse

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"github.com/tensortap/tensortap/schemas"
)

// producersPerQuery bounds the text of a query.
const producersPerQuery = 1000

// settle ends every INSERT without a waiting caller that may still run, of this writer or of the
// last process of its name.
func (t *table) settle(ctx context.Context) error {
	if !t.doubt {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, t.cfg.QueryTimeout)
	defer cancel()
	for ended := t.abandoned.none(); ; {
		if err := t.conn.Exec(ctx, "KILL QUERY WHERE startsWith(query_id, '"+t.prefix+"') SYNC"); err != nil {
			return fmt.Errorf("end unfinished inserts into %s: %w", t.name, err)
		}
		if ended {
			t.doubt = false
			return nil
		}
		// An INSERT that the server had not begun yet is not killed, but begins later. Once its caller has an answer it
		// has begun, and may run on where that answer is that the connection broke: so the last kill comes after.
		ended = t.abandoned.ended(ctx, killEvery)
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("end unfinished inserts into %s: %w", t.name, err)
		}
	}
}

// killEvery is the interval between kills of unfinished INSERTs, until all have ended.
const killEvery = 50 * time.Millisecond

// resolve finds out which messages of an INSERT that returned an error are missing.
func (t *table) resolve(ctx context.Context, c *call, of []int) ([]int, error) {
	if t.declared.Class == schemas.Definition {
		return of, nil // to store them again changes nothing
	}
	t.doubt = true
	t.counts.doubts.Add(1)
	for _, i := range of {
		t.stored.forget(producerOf(c.header(i).Identity))
	}
	if err := t.settle(ctx); err != nil {
		return nil, err
	}
	counts, err := t.batchRows(ctx, c, of)
	if err != nil {
		return nil, err
	}
	var missing []int
	for _, i := range of {
		h := c.header(i)
		switch n := counts[h.Identity]; n {
		case uint64(h.Rows):
			t.counts.resolved.Add(1)
		case 0:
			missing = append(missing, i)
		default:
			return nil, fmt.Errorf("alarm: batch %s was stored in part: %s holds %d of its %d rows", h.Identity, t.name, n, h.Rows)
		}
	}
	return missing, nil
}

// recall learns which batches are stored of the producers not known yet.
func (t *table) recall(ctx context.Context, c *call, of []int) error {
	unknown := make(map[producer]schemas.BatchSet)
	for _, i := range of {
		if p := producerOf(c.header(i).Identity); !t.stored.knows(p) {
			unknown[p] = schemas.BatchSet{}
		}
	}
	err := t.ask(ctx, unknown, func(list string) string { return t.intervalsSQL(list) }, func(rows driver.Rows) error {
		var p producer
		var v schemas.BatchSpan
		if err := rows.Scan(&p.runID, &p.rank, &p.epoch, &v.First, &v.Last); err != nil {
			return err
		}
		batches := unknown[p]
		batches.AddSpan(v)
		unknown[p] = batches
		return nil
	})
	if err != nil {
		return fmt.Errorf("read which batches %s holds of %d producers: %w", t.name, len(unknown), err)
	}
	for p, batches := range unknown {
		t.stored.learn(p, batches)
	}
	return nil
}

// batchRows counts the stored rows of messages.
func (t *table) batchRows(ctx context.Context, c *call, of []int) (map[schemas.Identity]uint64, error) {
	producers := make(map[producer]schemas.BatchSet)
	least, greatest := uint64(math.MaxUint64), uint64(0)
	for _, i := range of {
		id := c.header(i).Identity
		producers[producerOf(id)] = schemas.BatchSet{}
		least, greatest = min(least, id.Batch), max(greatest, id.Batch)
	}
	counts := make(map[schemas.Identity]uint64)
	err := t.ask(ctx, producers, func(list string) string { return t.countsSQL(list, least, greatest) }, func(rows driver.Rows) error {
		var id schemas.Identity
		var n uint64
		if err := rows.Scan(&id.RunID, &id.Rank, &id.Epoch, &id.Batch, &n); err != nil {
			return err
		}
		counts[id] = n
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("count the rows of %d batches in %s: %w", len(of), t.name, err)
	}
	return counts, nil
}

// Both queries group by the keys of the table's projection, and compare nothing else, so that
// ClickHouse reads the projection.

func (t *table) countsSQL(producers string, least, greatest uint64) string {
	return fmt.Sprintf("SELECT run_id, rank, epoch, batch, count() FROM %s WHERE (run_id, rank, epoch) IN (%s) AND batch BETWEEN %d AND %d "+
		"GROUP BY run_id, rank, epoch, batch", t.name, producers, least, greatest)
}

// intervalsSQL joins neighbours: where batch minus its rank among all is the
// same, batches follow each other.
func (t *table) intervalsSQL(producers string) string {
	return intervalsSQL(t.name, "(run_id, rank, epoch) IN ("+producers+")")
}

func intervalsSQL(table, condition string) string {
	return fmt.Sprintf("SELECT run_id, rank, epoch, min(batch) AS first, max(batch) AS last FROM ("+
		"SELECT run_id, rank, epoch, batch, batch - row_number() OVER (PARTITION BY run_id, rank, epoch ORDER BY batch) AS island FROM ("+
		"SELECT run_id, rank, epoch, batch, count() FROM %s WHERE %s GROUP BY run_id, rank, epoch, batch)) "+
		"GROUP BY run_id, rank, epoch, island ORDER BY run_id, rank, epoch, first", table, condition)
}

// Held is the set of batches of measurements that the tables have. Definitions carry no batch: the same row comes from
// many. What lies in damaged parts does not count.
func Held(ctx context.Context, conn driver.Conn, damaged ...Damage) (*schemas.Ledger, error) {
	held := schemas.NewLedger()
	for _, table := range schemas.Tables() {
		if table.Class == schemas.Definition {
			continue
		}
		err := eachRow(ctx, conn, intervalsSQL("tap_store."+table.Name, Outside(damaged, table.Kind())), func(rows driver.Rows) error {
			b := schemas.Batches{Kind: table.Kind()}
			err := rows.Scan(&b.RunID, &b.Rank, &b.Epoch, &b.First, &b.Last)
			held.Add(b)
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("read which batches table %s holds: %w", table.Name, err)
		}
	}
	return held, nil
}

// ask runs a query over a list of producers, some at a time.
func (t *table) ask(ctx context.Context, producers map[producer]schemas.BatchSet, query func(list string) string, each func(driver.Rows) error) error {
	var list []string
	for p := range producers {
		list = append(list, fmt.Sprintf("(%d, %d, %d)", p.runID, p.rank, p.epoch))
	}
	for len(list) > 0 {
		n := min(len(list), producersPerQuery)
		if err := t.scan(ctx, query(strings.Join(list[:n], ", ")), each); err != nil {
			return err
		}
		list = list[n:]
	}
	return nil
}

func (t *table) scan(ctx context.Context, query string, each func(driver.Rows) error) error {
	ctx, cancel := context.WithTimeout(ctx, t.cfg.QueryTimeout)
	defer cancel()
	return eachRow(clickhouse.Context(ctx, clickhouse.WithSettings(clickhouse.Settings{"max_query_size": 1 << 20})), t.conn, query, each)
}

func eachRow(ctx context.Context, conn driver.Conn, query string, each func(driver.Rows) error) (err error) {
	rows, err := conn.Query(ctx, query)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		if err := each(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}
