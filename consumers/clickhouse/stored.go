package clickhouse

import (
	"context"
	"fmt"
	"iter"
	"strconv"
	"strings"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/zeebo/xxh3"

	"github.com/tensortap/tensortap/schemas"
)

// Stored makes those batches of measurements again of the rows that the tables have, each whole. The rows of one may be in
// another order than they were published in. Batches that the tables lack are left out; an error is the last.
func Stored(ctx context.Context, conn driver.Conn, batches []schemas.Batches) iter.Seq2[schemas.Message, error] {
	return func(yield func(schemas.Message, error) bool) {
		for _, b := range batches {
			for batch := b.First; ; batch++ {
				m, err := storedBatch(ctx, conn, b, batch)
				if err == nil && m.Header.Rows > 0 && !yield(m, nil) {
					return
				}
				if err != nil {
					yield(m, fmt.Errorf("read batch %d of %v from the tables: %w", batch, b, err))
					return
				}
				if batch == b.Last {
					break
				}
			}
		}
	}
}

func storedBatch(ctx context.Context, conn driver.Conn, b schemas.Batches, batch uint64) (schemas.Message, error) {
	table, known := schemas.TableByKind(b.Kind)
	if !known || table.Class != schemas.Measurement {
		return schemas.Message{}, nil
	}
	sql := fmt.Sprintf("SELECT %s FROM %s.%s WHERE run_id = %d AND rank = %d AND epoch = %d AND batch = %d",
		columnList(table), storeDatabase, b.Kind, b.RunID, b.Rank, b.Epoch, batch)
	var records []arrow.RecordBatch
	err := Each(ctx, conn, sql, func(record arrow.RecordBatch) error {
		record.Retain()
		records = append(records, record)
		return nil
	})
	if err != nil || len(records) == 0 {
		return schemas.Message{}, err
	}
	return table.Pack(schemas.Identity{RunID: b.RunID, Rank: b.Rank, Epoch: b.Epoch, Batch: batch}, records)
}

func columnList(table schemas.Table) string {
	columns := make([]string, len(table.Columns))
	for i, c := range table.Columns {
		columns[i] = c.Name
	}
	return quoted(columns)
}

// Keys are the keys of all rows of a table of definitions, as KeyHashes has them. What lies in damaged parts does not count.
func Keys(ctx context.Context, conn driver.Conn, table schemas.Table, damaged ...Damage) (map[uint64]bool, error) {
	keys := map[uint64]bool{}
	sql := "SELECT DISTINCT " + strings.Join(table.Key, ", ") + " FROM " + storeDatabase + "." + table.Kind() + " WHERE " + Outside(damaged, table.Kind())
	err := Each(ctx, conn, sql, func(record arrow.RecordBatch) error {
		for _, key := range KeyHashes(table, record) {
			keys[key] = true
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read which definitions table %s holds: %w", table.Name, err)
	}
	return keys, nil
}

// KeysSum tells one set of keys of a table of definitions from others.
func KeysSum(ctx context.Context, conn driver.Conn, table schemas.Table) (uint64, error) {
	keys := strings.Join(table.Key, ", ")
	var sum uint64
	query := fmt.Sprintf("SELECT groupBitXor(cityHash64(%s)) FROM (SELECT DISTINCT %s FROM %s.%s)", keys, keys, storeDatabase, table.Kind())
	if err := conn.QueryRow(ctx, query).Scan(&sum); err != nil {
		return 0, fmt.Errorf("sum up the keys of table %s: %w", table.Name, err)
	}
	return sum, nil
}

// KeyHashes is a hash of the key of each row.
func KeyHashes(table schemas.Table, record arrow.RecordBatch) []uint64 {
	var columns []arrow.Array
	for _, name := range table.Key {
		for _, i := range record.Schema().FieldIndices(name) {
			columns = append(columns, record.Column(i))
		}
	}
	hashes := make([]uint64, record.NumRows())
	var key []byte
	for row := range hashes {
		key = key[:0]
		for _, column := range columns {
			key = strconv.AppendQuote(key, column.ValueStr(row))
		}
		hashes[row] = xxh3.Hash(key)
	}
	return hashes
}
