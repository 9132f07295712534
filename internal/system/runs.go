package system

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/tensortap/tensortap/internal/audit"
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
func (c *Client) stores(spool string) retention.Stores {
	return retention.Stores{Stream: c.stream, Database: c.database, Archive: c.Endpoint.Archive, Local: c.Endpoint.Folder.local(spool)}
}

// Room measures what takes room, by run and place.
func (c *Client) Room(ctx context.Context, spool string) ([]retention.Use, error) {
	stores := c.stores(spool)
	return stores.Uses(ctx)
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
	if shared, err := isShared(ctx, c.stream); err != nil || shared {
		return nil, cmp.Or(err, errNobodyDeletes)
	}
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
		why = append(why, fmt.Sprintf("%d of its ranks live", len(living)))
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

// deletedLook is how often it is asked whether a run is gone.
const deletedLook = 20 * time.Millisecond

var errNobodyDeletes = errors.New("runs are removed by `tensortap up`, and what fills the stores of this stream is `tensortap consume`, which removes none so far")

// DeleteRun decides durably that a run goes, and returns once nothing is left of it, with what is measured then. An error
// after the decision says why that takes long: the running system goes on, and so does the next.
func (c *Client) DeleteRun(ctx context.Context, d *Deletion, evenPinned bool) (left []retention.Use, err error) { //nolint:revive // flag-parameter: two ways to decide
	err = c.Audited(ctx, deletionOf(d.Run, evenPinned), func() error {
		left, err = c.deleteRun(ctx, d, evenPinned)
		return err
	})
	return left, err
}

func deletionOf(run string, evenPinned bool) audit.Deed { //nolint:revive // flag-parameter: two ways to decide
	return audit.Deed{Name: "delete", Run: run, Details: map[string]string{"force": strconv.FormatBool(evenPinned)}}
}

// KeepRun writes down that somebody asked to delete a run, and that it is kept, and why.
func (c *Client) KeepRun(ctx context.Context, run string, why error) error {
	return c.Audited(ctx, deletionOf(run, false), func() error { return audit.Refuse(why) })
}

func (c *Client) deleteRun(ctx context.Context, d *Deletion, evenPinned bool) ([]retention.Use, error) { //nolint:revive // flag-parameter: two ways to decide
	fates, err := pipelines.OpenFates(ctx, c.stream)
	if err != nil {
		return nil, err
	}
	fates.By = c.who().String()
	if _, err := fates.Delete(ctx, d.Run, c.now(), evenPinned); err != nil {
		if errors.Is(err, pipelines.ErrRunPinned) {
			err = audit.Refuse(err)
		}
		return nil, err
	}
	for {
		fate, err := fates.Of(ctx, schemas.RunID(d.Run))
		switch {
		case err != nil:
			return nil, err
		case fate.GoneNs != 0:
			return c.roomOf(ctx, d.Run)
		case fate.Trouble != "":
			return nil, fmt.Errorf("it is decided that run %s goes, and the running system goes on trying: %s", d.Run, fate.Trouble)
		}
		select {
		case <-time.After(deletedLook):
		case <-ctx.Done():
			return nil, fmt.Errorf("it is decided that run %s goes, and `tensortap up` goes on with that: %w", d.Run, context.Cause(ctx))
		}
	}
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
	stores := c.stores("")
	uses, err := stores.Durable(ctx)
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
