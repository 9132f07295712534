// Package schemas declares every event once.
//
// Every kind of event is a [Table]: a function in the file of that name returns it as a literal
// list of columns. All else derives from that list: Arrow schemas and ids here, Go rows, ClickHouse
// tables and the reference by `make generate`. The package also owns the message envelope (S2,
// checksum, headers), since producers and consumers both need it. It imports nothing else of this
// repository.
package schemas

import (
	"strconv"
	"sync"
)

// Class tells how rows of a table are kept exactly once.
type Class uint8

const (
	// Definition rows are named by their content: storing one twice changes nothing.
	Definition Class = iota
	// Measurement rows carry the identity (run, rank, epoch, batch) they were published under.
	Measurement
)

// Type is the type of a column in every encoding.
type Type uint8

// The types. Each has one Arrow, Go, Parquet and ClickHouse form.
const (
	Uint8 Type = iota
	Uint16
	Uint32
	Uint64
	Int16
	Int32
	Int64
	Float64
	String
	Strings
	Int64s
	Float32s
	StringMap
)

// Unit is the unit of a number. It also chooses the storage codecs, since columns of one unit
// compress alike.
type Unit uint8

const (
	// None is for text, enumerations and coordinates.
	None Unit = iota
	// Hash is a content hash: no order, no arithmetic.
	Hash
	// Ordinal is a position in an order.
	Ordinal
	// Count is a number of things; the column's name ends in _count.
	Count
	// Bytes is a size; the column's name ends in _bytes.
	Bytes
	// Nanoseconds is a UTC time or a duration; the column's name ends in _ns.
	Nanoseconds
	// Bits is a set of flags.
	Bits
	// Value is a statistic of a tensor's own elements, in their unit; the column's name starts with value_.
	Value
)

// Column is one named value of each row of a table.
type Column struct {
	Name     string
	Type     Type
	Unit     Unit
	Nullable bool // null means not measured or not known
	Doc      string
}

// Table declares one kind of event.
type Table struct {
	Name           string
	Version        int
	Class          Class
	Doc            string
	Key            []string // sorting key in ClickHouse; for definitions also the unique key
	PartitionByDay bool     // by UTC day of event_time_ns
	Judged         bool     // of measurements: a comparison made them, not a rank
	Beside         bool     // of measurements: it stands beside a run, as its logs do, and makes nobody a rank
	Columns        []Column
}

// Kind is the table's name in subjects and databases: the version stands in it from 2 on.
func (t Table) Kind() string {
	if t.Version < 2 {
		return t.Name
	}
	return t.Name + "_v" + strconv.Itoa(t.Version)
}

// Column returns the position of the named column, or -1.
func (t Table) Column(name string) int {
	for i, c := range t.Columns {
		if c.Name == name {
			return i
		}
	}
	return -1
}

// Tables returns every table, definitions before the measurements that refer to them.
func Tables() []Table {
	return []Table{
		Run(), Rank(), Op(), Site(), Layout(), Stack(), Program(), ProgramStack(),
		Step(), Tensor(), Payload(), DeadLetter(),
		// Findings about measurements. Files of sql/tables are numbered in this order: new tables go to the end.
		Alignment(), PayloadError(), Comparison(), Finding(), KnownException(),
		// Events of live ranks beside their tensors.
		Memory(), Failure(), Unseen(), Heartbeat(),
		Request(),
		Signature(), Tally(), Call(),
		// Results of comparisons.
		DeclaredComparison(), Verdict(), JudgedStep(), LayerError(), Origin(), Baseline(),
		// What programs say of themselves.
		Collective(), Log(), Metric(), Allocation(), RequestEvent(),
		// What people are told of.
		Alert(),
		// What people did.
		Audit(),
		// What models say token by token.
		Token(), Weight(), TokenSite(),
	}
}

// TableByKind returns the table of that kind, and whether there is one.
func TableByKind(kind string) (Table, bool) {
	t, known := byKind()[kind]
	return t, known
}

// byKind is asked for each message; to make all tables takes longer than to look at one.
//
//nolint:gochecknoglobals // what it holds is the same for all
var byKind = sync.OnceValue(func() map[string]Table {
	tables := map[string]Table{}
	for _, t := range Tables() {
		tables[t.Kind()] = t
	}
	return tables
})
