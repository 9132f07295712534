// Package clickhouse stores events in ClickHouse, each exactly once, and
// prepares and reads the tables and views that hold them.
//
// The promise does not rest on ClickHouse's own de-duplication, which a crash
// can fool. Every measurement row carries the identity of its batch; whole
// batches go into one INSERT that ClickHouse makes one part, so it is all or
// nothing; and after any doubt the [Writer] reads back which batches are there.
package clickhouse

import (
	"errors"
	"fmt"
	"time"

	"github.com/tensortap/tensortap/schemas"
)

// maxInsertRows is the most that ClickHouse takes as one block, so as one part.
const maxInsertRows = schemas.MaxMessageRows

// Config has the limits of a Writer. Begin with DefaultConfig.
type Config struct {
	// Name is the writer's name, unique among the writers of these tables. Only one may run under a
	// name: a new one ends the INSERTs that the last one left running.
	Name string
	// Fence keeps other processes from writing under the name, where they may be several; nil where there is one.
	Fence *Fence
	// InsertRows is the most rows of one INSERT, unless one message has more.
	InsertRows int
	// Inserts is the number of INSERTs that one call may have under way. An INSERT is the work of
	// one core of the server.
	Inserts int
	// InsertTimeout is the longest time of one INSERT.
	InsertTimeout time.Duration
	// QueryTimeout is the longest time of one look into the tables.
	QueryTimeout time.Duration
	// Producers is the number of producers, per table, whose stored batches the writer remembers.
	// It reads the batches of others again when needed.
	Producers int
}

// DefaultConfig returns the configuration of the one writer of a machine.
func DefaultConfig() Config {
	return Config{
		Name:          "clickhouse",
		InsertRows:    262_144,
		Inserts:       2,
		InsertTimeout: time.Minute,
		QueryTimeout:  30 * time.Second,
		Producers:     10_000,
	}
}

// Validate returns the first error of the configuration.
func (c Config) Validate() error {
	if c.Name == "" {
		return errors.New("the ClickHouse writer needs a name")
	}
	if c.Fence != nil && c.Fence.Name != c.Name {
		return fmt.Errorf("the ClickHouse writer %s is behind the fence of %s", c.Name, c.Fence.Name)
	}
	if c.InsertRows < 1 || c.InsertRows > maxInsertRows {
		return fmt.Errorf("rows of one insert are %d, want 1 to %d", c.InsertRows, maxInsertRows)
	}
	if c.Inserts < 1 {
		return fmt.Errorf("inserts at a time are %d, want at least 1", c.Inserts)
	}
	if c.InsertTimeout <= 0 || c.QueryTimeout <= 0 {
		return fmt.Errorf("timeouts of insert %s and query %s must be greater than zero", c.InsertTimeout, c.QueryTimeout)
	}
	if c.Producers < 1 {
		return fmt.Errorf("producers to remember are %d, want at least 1", c.Producers)
	}
	return nil
}
