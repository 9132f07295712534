package simulated

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
)

// Client is the connection of one process. Only what the program uses is there.
type Client struct {
	driver.Conn
	database *Database
	dice     *Dice
	gone     chan struct{}
}

// Client makes the connection of a process.
func (d *Database) Client(name string) *Client {
	return &Client{database: d, dice: d.fate.Of("client " + name), gone: make(chan struct{})}
}

// Kill cuts off the process. What the database has begun goes on; what it has not begun never begins.
func (c *Client) Kill() { close(c.gone) }

var (
	errGone    = errors.New("connection reset")
	errRefused = errors.New("connection refused")
)

// reach waits as a request does on its way.
func (c *Client) reach(ctx context.Context) error {
	c.dice.Travel()
	select {
	case <-c.gone:
		return errGone
	case <-ctx.Done():
		return ctx.Err()
	default:
	}
	c.database.mutex.Lock()
	defer c.database.mutex.Unlock()
	if c.database.down || c.dice.Strikes(30) {
		return errRefused
	}
	return nil
}

// Exec is KILL QUERY … SYNC: it returns when the INSERTs that it found have ended.
func (c *Client) Exec(ctx context.Context, query string, _ ...any) error {
	if err := c.reach(ctx); err != nil {
		return err
	}
	kind := strings.Split(query, "/")[2]
	d := c.database
	d.mutex.Lock()
	var found []*insert
	for i := range d.inserts {
		if i.begun && i.table == "tap_store."+kind {
			i.end()
			found = append(found, i)
		}
	}
	d.mutex.Unlock()
	for _, i := range found {
		select {
		case <-i.ended:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	c.dice.Travel()
	if c.dice.Strikes(30) {
		return errGone
	}
	return nil
}

// Query answers which batches are stored, in one of the two forms in which the writer asks.
func (c *Client) Query(ctx context.Context, query string, _ ...any) (driver.Rows, error) {
	if err := c.reach(ctx); err != nil {
		return nil, err
	}
	rows := c.database.find(query)
	c.dice.Travel()
	if c.dice.Strikes(30) {
		return nil, errGone
	}
	if !strings.Contains(query, "island") {
		return &answer{rows: rows}, nil
	}
	return &answer{rows: spansOf(rows)}, nil
}

var producers = regexp.MustCompile(`\((\d+), (\d+), (\d+)\)`)

// find gives run, rank, epoch, batch and rows of all batches of the producers that the query names.
func (d *Database) find(query string) [][]uint64 {
	wanted := map[string]bool{}
	for _, found := range producers.FindAllString(query, -1) {
		wanted[found] = true
	}
	_, from, _ := strings.Cut(query, "FROM tap_store.")
	d.mutex.Lock()
	defer d.mutex.Unlock()
	var rows [][]uint64
	for of, n := range d.tables["tap_store."+strings.Fields(from)[0]] {
		if wanted[fmt.Sprintf("(%d, %d, %d)", of.RunID, of.Rank, of.Epoch)] {
			rows = append(rows, []uint64{of.RunID, uint64(of.Rank), of.Epoch, of.Batch, n})
		}
	}
	slices.SortFunc(rows, slices.Compare)
	return rows
}

// spansOf gives spans of one batch each, which say the same as longer ones.
func spansOf(rows [][]uint64) [][]uint64 {
	for _, row := range rows {
		row[4] = row[3]
	}
	return rows
}

// answer is the rows of an answer.
type answer struct {
	driver.Rows
	rows [][]uint64
	row  []uint64
}

// Next implements driver.Rows.
func (a *answer) Next() bool {
	if len(a.rows) == 0 {
		return false
	}
	a.row, a.rows = a.rows[0], a.rows[1:]
	return true
}

// Scan implements driver.Rows.
func (a *answer) Scan(to ...any) error {
	for i, value := range a.row {
		switch target := to[i].(type) {
		case *uint64:
			*target = value
		case *uint32:
			*target = uint32(value) //nolint:gosec // it was one
		default:
			return fmt.Errorf("scan into %T", target)
		}
	}
	return nil
}

// Close implements driver.Rows.
func (a *answer) Close() error { return nil }

// Err implements driver.Rows.
func (a *answer) Err() error { return nil }
