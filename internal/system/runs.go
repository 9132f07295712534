package system

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/tensortap/tensortap/internal/audit"
	"github.com/tensortap/tensortap/internal/plural"
	"github.com/tensortap/tensortap/internal/retention"
	"github.com/tensortap/tensortap/pipelines"
	"github.com/tensortap/tensortap/schemas"
)

// Deletion is what is known of a run that is to be deleted.
type Deletion struct {
	Run   string
	Room  []retention.Use // what it takes
	Why   []string        // what speaks against it
	Since time.Time       // when it was decided already; zero: not yet
	Gone  bool            // and nothing was left of it
}

// stores are those that are measured; the spool is that of this host's collectors.
func (c *Client) stores(ctx context.Context, spool string) (retention.Stores, error) {
	archive, _, err := c.archiveHere(ctx)
	copied, _, _ := c.Endpoint.Folder.Copied() // the doctor says what is wrong with it
	return retention.Stores{Stream: c.stream, Database: c.database, Archive: archive, Copied: copied.NotedBytes, Local: c.Endpoint.Folder.local(spool)}, err
}

// Room measures what takes room, by run and place.
func (c *Client) Room(ctx context.Context, spool string) ([]retention.Use, error) {
	stores, err := c.stores(ctx, spool)
	if err != nil {
		return nil, err
	}
	return stores.Uses(ctx)
}

// durable measures what tables and archive hold.
func (c *Client) durable(ctx context.Context) ([]retention.Use, error) {
	stores, err := c.stores(ctx, "")
	if err != nil {
		return nil, err
	}
	return stores.Durable(ctx)
}

// roomOf measures what a run takes.
func (c *Client) roomOf(ctx context.Context, run string) ([]retention.Use, error) {
	all, err := c.Room(ctx, "")
	var room []retention.Use
	for _, u := range all {
		if u.RunID == schemas.RunID(run) {
			room = append(room, u)
		}
	}
	return room, err
}

// LookAtDeletion says what would go with a run, and what speaks against it. A run that nobody knows is an error.
func (c *Client) LookAtDeletion(ctx context.Context, run string) (*Deletion, error) {
	fates, err := pipelines.OpenFates(ctx, c.stream)
	if err != nil {
		return nil, err
	}
	fate, err := fates.Of(ctx, schemas.RunID(run))
	if err != nil {
		return nil, err
	}
	d := &Deletion{Run: run}
	if d.Room, err = c.roomOf(ctx, run); err != nil {
		return nil, err
	}
	if fate.Deleted() {
		d.Since, d.Gone = time.Unix(0, fate.DeletedNs), fate.GoneNs != 0
		return d, nil
	}
	if len(d.Room) == 0 {
		return nil, errors.Join(c.CheckRun(ctx, run), fmt.Errorf("nothing is stored of run %q", run))
	}
	d.Why, err = c.against(ctx, run, fate.PinnedNs != 0)
	return d, err
}

// against lists what speaks against deleting a run.
func (c *Client) against(ctx context.Context, run string, pinned bool) ([]string, error) { //nolint:revive // flag-parameter: a fact about the run
	var why []string
	if pinned {
		why = append(why, "it is pinned")
	}
	states, err := pipelines.RankStates(ctx, c.stream, schemas.RunID(run))
	if err != nil {
		return nil, err
	}
	if living, err := livingOf(states, nil); err == nil {
		why = append(why, fmt.Sprintf("%s of it %s", plural.Of(len(living), "rank"), plural.Verb(len(living), "lives", "live")))
	}
	table, err := c.Table(ctx, "SELECT name FROM tap.baselines WHERE has(benches, {run:String}) ORDER BY name", map[string]string{"run": run})
	if err != nil {
		return nil, err
	}
	var names []string
	for i := range table.Rows {
		names = append(names, table.Get(i, "name").Exact)
	}
	if len(names) > 0 {
		why = append(why, "runs are held against it by baseline "+strings.Join(names, ", "))
	}
	return why, nil
}

// PinRun keeps a stored run from being deleted.
func (c *Client) PinRun(ctx context.Context, run string) error {
	return c.Audited(ctx, audit.Deed{Name: "pin", Run: run}, func() error { return c.pinRun(ctx, run) })
}

func (c *Client) pinRun(ctx context.Context, run string) error {
	fates, err := pipelines.OpenFates(ctx, c.stream)
	if err != nil {
		return err
	}
	if err := pipelines.RefuseDeleted(ctx, c.stream, schemas.RunID(run)); err != nil {
		return err
	}
	if err := c.CheckRun(ctx, run); err != nil {
		return err
	}
	return fates.Pin(ctx, run, c.now())
}

// UnpinRun takes the pin of a run away; one that is not pinned is an error.
func (c *Client) UnpinRun(ctx context.Context, run string) error {
	return c.Audited(ctx, audit.Deed{Name: "unpin", Run: run}, func() error { return c.unpinRun(ctx, run) })
}

func (c *Client) unpinRun(ctx context.Context, run string) error {
	fates, err := pipelines.OpenFates(ctx, c.stream)
	if err != nil {
		return err
	}
	fate, err := fates.Of(ctx, schemas.RunID(run))
	if err == nil && fate.PinnedNs == 0 {
		err = errors.Join(c.CheckRun(ctx, run), fmt.Errorf("run %q is not pinned", run))
	}
	if err != nil {
		return err
	}
	return fates.Unpin(ctx, run)
}

// Measured says of each run what tables and archive hold of it, in bytes, and whether it is pinned, as the report of runs
// takes it.
func Measured(ctx context.Context, e Endpoint, now func() time.Time) (string, error) {
	c, err := Connect(ctx, e, now)
	if err != nil {
		return "[]", err
	}
	defer c.Close()
	return c.MeasuredRuns(ctx)
}

// MeasuredRuns is Measured by a client that is connected.
func (c *Client) MeasuredRuns(ctx context.Context) (string, error) {
	uses, err := c.durable(ctx)
	if err != nil {
		return "[]", err
	}
	pinned, err := pipelines.PinnedRuns(ctx, c.stream)
	bytes := map[uint64]uint64{}
	for id := range pinned {
		bytes[id] = 0
	}
	for _, u := range uses {
		bytes[u.RunID] += u.Bytes
	}
	texts := make([]string, 0, len(bytes))
	for id, size := range bytes {
		texts = append(texts, fmt.Sprintf("(%d,%d,%d)", id, size, bit(pinned[id])))
	}
	return "[" + strings.Join(texts, ",") + "]", err
}

func bit(is bool) uint8 { //nolint:revive // flag-parameter: it becomes a number
	if is {
		return 1
	}
	return 0
}
