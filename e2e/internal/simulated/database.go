package simulated

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"

	"github.com/tensortap/tensortap/schemas"
)

// Database stores each INSERT whole or not at all. It begins one some time after the request was sent, whether or not
// anyone still waits for the answer, and ends it when it is killed, unless that comes too late.
type Database struct {
	fate *Fate
	dice *Dice

	mutex   sync.Mutex
	down    bool
	life    int
	tables  map[string]map[schemas.Identity]uint64 // rows of each batch
	inserts map[*insert]bool
}

// insert is one that was sent.
type insert struct {
	table   string
	client  *Client
	life    int
	begun   bool
	started chan struct{} // closed as it begins, or never will
	killed  chan struct{}
	ended   chan struct{}
	batches map[schemas.Identity]uint64
}

// NewDatabase makes one that is empty.
func NewDatabase(fate *Fate) *Database {
	return &Database{fate: fate, dice: fate.Of("database"), tables: map[string]map[schemas.Identity]uint64{}, inserts: map[*insert]bool{}}
}

// Rows is the number of rows that a table has of a batch.
func (d *Database) Rows(kind string, of schemas.Identity) uint64 {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	return d.tables["tap_store."+kind][of]
}

// Batches is the number of batches in all tables.
func (d *Database) Batches() int {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	n := 0
	for _, table := range d.tables {
		n += len(table)
	}
	return n
}

// Kill ends the database, and every INSERT that is not stored. It starts again after a while.
func (d *Database) Kill(away time.Duration) {
	d.mutex.Lock()
	d.down = true
	d.life++
	for i := range d.inserts {
		i.end()
	}
	d.mutex.Unlock()
	time.Sleep(away)
	d.mutex.Lock()
	defer d.mutex.Unlock()
	d.down = false
}

func (i *insert) end() {
	select {
	case <-i.killed:
	default:
		close(i.killed)
	}
}

// InsertFormat stores the batches of an Arrow stream.
func (c *Client) InsertFormat(ctx context.Context, _, query string, data io.Reader) error {
	batches, err := batchesOf(data)
	if err != nil {
		return &clickhouse.Exception{Code: 33, Message: err.Error()}
	}
	if err := c.reach(ctx); err != nil {
		return err
	}
	i := &insert{
		table: strings.Fields(query)[2], client: c, batches: batches,
		started: make(chan struct{}), killed: make(chan struct{}), ended: make(chan struct{}),
	}
	d := c.database
	d.mutex.Lock()
	i.life = d.life
	d.inserts[i] = true
	d.mutex.Unlock()
	stored := make(chan error, 1)
	go func() { stored <- d.execute(i) }()
	if c.dice.Strikes(12) { // the connection is lost: of one that is not read yet the server would know
		<-i.started
		err = errGone
		if c.dice.Strikes(2) {
			time.Sleep(c.dice.Upto(3 * time.Minute))
		}
	} else {
		err = <-stored
	}
	c.dice.Travel()
	return err
}

// execute runs an INSERT on the server.
func (d *Database) execute(i *insert) error {
	defer close(i.ended)
	defer d.forget(i)
	if d.dice.Strikes(15) {
		time.Sleep(d.dice.Upto(90 * time.Second)) // it waits for its turn
	}
	err := d.begin(i)
	close(i.started)
	if err != nil {
		return err
	}
	work := time.NewTimer(d.workTime())
	defer work.Stop()
	select {
	case <-work.C:
	case <-i.killed:
		if !d.dice.Strikes(3) {
			return &clickhouse.Exception{Code: 394, Message: "Query was cancelled"}
		}
	}
	return d.commit(i)
}

func (d *Database) workTime() time.Duration {
	if d.dice.Strikes(15) {
		return d.dice.Upto(2 * time.Minute)
	}
	return d.dice.Upto(50 * time.Millisecond)
}

func (d *Database) forget(i *insert) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	delete(d.inserts, i)
}

func (d *Database) begin(i *insert) error {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	select {
	case <-i.client.gone:
		return errGone
	default:
	}
	if i.life != d.life {
		return errGone
	}
	i.begun = true
	return nil
}

func (d *Database) commit(i *insert) error {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	if i.life != d.life {
		return errGone
	}
	if d.dice.Strikes(40) {
		return &clickhouse.Exception{Code: 241, Message: "Memory limit exceeded"}
	}
	table := d.tables[i.table]
	if table == nil {
		table = map[schemas.Identity]uint64{}
		d.tables[i.table] = table
	}
	for of, rows := range i.batches {
		table[of] += rows
	}
	return nil
}

// batchesOf counts the rows of each batch.
func batchesOf(data io.Reader) (map[schemas.Identity]uint64, error) {
	reader, err := ipc.NewReader(data)
	if err != nil {
		return nil, err
	}
	defer reader.Release()
	batches := map[schemas.Identity]uint64{}
	definitions := len(reader.Schema().FieldIndices("batch")) == 0 // which may be stored any number of times
	for reader.Next() {
		if definitions {
			continue
		}
		record := reader.RecordBatch()
		runs, ranks := record.Column(0).(*array.Uint64), record.Column(1).(*array.Uint32)
		epochs, numbers := record.Column(2).(*array.Uint64), record.Column(3).(*array.Uint64)
		for row := range int(record.NumRows()) {
			batches[schemas.Identity{RunID: runs.Value(row), Rank: ranks.Value(row), Epoch: epochs.Value(row), Batch: numbers.Value(row)}]++
		}
	}
	_, err = io.Copy(io.Discard, data)
	return batches, errors.Join(err, reader.Err())
}
