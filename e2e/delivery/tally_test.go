package delivery

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/zeebo/xxh3"

	"github.com/tensortap/tensortap/schemas"
)

// tally is all rows of a store: of measurements those of each batch, of definitions each distinct row.
type tally struct {
	batches     map[batchKey]batchSum
	definitions map[string]map[uint64]bool // kind, hash of the row
	messages    int
	repeated    int // messages whose batch was there before, with the same rows
	malformed   int
}

type batchKey struct {
	kind string
	id   schemas.Identity
}

// batchSum tells batches of other rows apart, in whatever order the rows are.
type batchSum struct {
	rows int
	sum  uint64
}

func newTally() *tally {
	return &tally{batches: map[batchKey]batchSum{}, definitions: map[string]map[uint64]bool{}}
}

// rows is how many rows of measurements there are.
func (t *tally) rows() int {
	n := 0
	for _, b := range t.batches {
		n += b.rows
	}
	return n
}

// add takes a message; one whose batch was there before counts once, and must hold the same.
func (t *tally) add(m schemas.Message) error {
	record, err := m.Record()
	if err != nil {
		return err
	}
	t.messages++
	table, _ := schemas.TableByKind(m.Header.Kind)
	if table.Class == schemas.Definition {
		t.define(table.Kind(), record)
		return nil
	}
	sum := batchSum{rows: int(record.NumRows())}
	for _, h := range rowHashes(record) {
		sum.sum += h
	}
	key := batchKey{m.Header.Kind, m.Header.Identity}
	if before, found := t.batches[key]; found {
		t.repeated++
		if before != sum {
			return fmt.Errorf("batch %v came twice, with other rows", key)
		}
	}
	t.batches[key] = sum
	return nil
}

func (t *tally) define(kind string, record arrow.RecordBatch) {
	rows := t.definitions[kind]
	if rows == nil {
		rows = map[uint64]bool{}
		t.definitions[kind] = rows
	}
	for _, h := range rowHashes(record) {
		rows[h] = true
	}
}

// addRows takes rows of any batches, each as often as it stands there.
func (t *tally) addRows(table schemas.Table, record arrow.RecordBatch) error {
	if table.Class == schemas.Definition {
		t.define(table.Kind(), record)
		return nil
	}
	run, ok1 := record.Column(0).(*array.Uint64)
	rank, ok2 := record.Column(1).(*array.Uint32)
	epoch, ok3 := record.Column(2).(*array.Uint64)
	batch, ok4 := record.Column(3).(*array.Uint64)
	if !ok1 || !ok2 || !ok3 || !ok4 {
		return fmt.Errorf("%s does not begin with an identity: %v", table.Kind(), record.Schema())
	}
	for i, h := range rowHashes(record) {
		key := batchKey{table.Kind(), schemas.Identity{RunID: run.Value(i), Rank: rank.Value(i), Epoch: epoch.Value(i), Batch: batch.Value(i)}}
		sum := t.batches[key]
		sum.rows++
		sum.sum += h
		t.batches[key] = sum
	}
	return nil
}

// rowHashes is a hash of each row, of every bit of every value.
func rowHashes(record arrow.RecordBatch) []uint64 {
	hashes := make([]uint64, record.NumRows())
	for _, column := range record.Columns() {
		value := bitsOf(column)
		for i := range hashes {
			h := hashes[i] ^ value(i)
			h *= 0x9e3779b97f4a7c15 // an odd number, so nothing is lost; the order of columns counts
			hashes[i] = h ^ h>>29
		}
	}
	return hashes
}

func bitsOf(column arrow.Array) func(i int) uint64 {
	switch c := column.(type) {
	case *array.Uint64:
		return func(i int) uint64 { return valid(c, i, c.Value(i)) }
	case *array.Uint32:
		return func(i int) uint64 { return valid(c, i, uint64(c.Value(i))) }
	case *array.Uint16:
		return func(i int) uint64 { return valid(c, i, uint64(c.Value(i))) }
	case *array.Uint8:
		return func(i int) uint64 { return valid(c, i, uint64(c.Value(i))) }
	case *array.Int64:
		return func(i int) uint64 { return valid(c, i, uint64(c.Value(i))) }
	case *array.Float64:
		return func(i int) uint64 { return valid(c, i, math.Float64bits(c.Value(i))) }
	case *array.Float32:
		return func(i int) uint64 { return valid(c, i, uint64(math.Float32bits(c.Value(i)))) }
	case *array.List:
		return func(i int) uint64 { return valid(c, i, bitsOfList(c, i)) }
	case *array.String:
		return func(i int) uint64 { return valid(c, i, xxh3.HashString(c.Value(i))) }
	default:
		return func(i int) uint64 { return valid(c, i, xxh3.HashString(c.ValueStr(i))) }
	}
}

func bitsOfList(c *array.List, i int) uint64 {
	value := bitsOf(c.ListValues())
	from, to := c.ValueOffsets(i)
	bits := uint64(to - from)
	for k := from; k < to; k++ {
		bits = bits*0x9e3779b97f4a7c15 ^ value(int(k))
	}
	return bits
}

// valid keeps null apart from whatever stands in its place.
func valid(column arrow.Array, i int, bits uint64) uint64 {
	if column.IsNull(i) {
		return 0x6e756c6c6e756c6c
	}
	return bits
}

// lacks says how other differs from t, a few differences of each sort.
func (t *tally) lacks(other *tally) []string {
	const most = 5
	var said []string
	say := func(n int, format string, values ...any) int {
		if n < most {
			said = append(said, fmt.Sprintf(format, values...))
		}
		return n + 1
	}
	missing, wrong, extra := 0, 0, 0
	for key, want := range t.batches {
		got, found := other.batches[key]
		switch {
		case !found:
			missing = say(missing, "batch %v of %d rows is missing", key, want.rows)
		case got.rows != want.rows:
			wrong = say(wrong, "batch %v has %d rows, want %d", key, got.rows, want.rows)
		case got != want:
			wrong = say(wrong, "batch %v has other values", key)
		}
	}
	for key := range other.batches {
		if _, found := t.batches[key]; !found {
			extra = say(extra, "batch %v should not be there", key)
		}
	}
	for kind := range maps.Keys(t.definitions) {
		if a, b := t.definitions[kind], other.definitions[kind]; !maps.Equal(a, b) {
			said = append(said, fmt.Sprintf("distinct rows of %s: %d, want %d", kind, len(b), len(a)))
		}
	}
	if n := missing + wrong + extra; n > 0 {
		said = append(said, fmt.Sprintf("of %d batches %d are missing, %d differ, %d are too many", len(t.batches), missing, wrong, extra))
	}
	slices.Sort(said)
	return said
}
