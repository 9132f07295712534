package system

import (
	"context"
	"maps"
	"path/filepath"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"

	"github.com/tensortap/tensortap/consumers/clickhouse"
	"github.com/tensortap/tensortap/internal/retention"
	"github.com/tensortap/tensortap/pipelines"
	"github.com/tensortap/tensortap/schemas"
)

// deleteAgain is the pause before a deletion that failed goes on.
const deleteAgain = 5 * time.Second

func (f Folder) purged() retention.PurgedFile {
	return retention.PurgedFile(filepath.Join(string(f), "purged"))
}

// local are the folders of runs on this host.
func (f Folder) local(spool string) retention.Local {
	return retention.Local{Logs: filepath.Join(string(f), "logs"), Payloads: filepath.Join(string(f), "payloads"), Spool: spool}
}

// deleting carries deletions out, in the loop that mends the stores: neither may undo what the other does.
type deleting struct {
	fates   *pipelines.Fates
	removal *retention.Removal
	log     zerolog.Logger
	now     func() time.Time
	due     chan struct{} // filled where there may be something to do
	told    map[uint64]uint64
}

// newDeleting knows all deletions until now, and has finished those that were under way, as far as it can.
func (s *System) newDeleting(ctx context.Context, client *Client, store *archive, tables *clickhouse.Writer) (*deleting, error) {
	if store == nil {
		return nil, nil //nolint:nilnil // a system that is thrown away deletes nothing
	}
	fates, err := pipelines.OpenFates(ctx, client.stream)
	if err != nil {
		return nil, err
	}
	d := &deleting{fates: fates, log: s.cfg.Log, now: s.cfg.Now, due: make(chan struct{}, 1), told: map[uint64]uint64{}}
	d.removal = &retention.Removal{
		Stream: client.stream, Database: client.database, Tables: tables, Archive: store.writer,
		Local: s.cfg.Folder.local(s.cfg.Serve.Spool), Purged: s.cfg.Folder.purged(), Deleted: s.deleted,
	}
	if s.cfg.Serve.Payloads != "" {
		d.removal.Local.Payloads = s.cfg.Serve.Payloads
	}
	d.all(ctx)
	return d, nil
}

// wanted is filled where a deletion waits.
func (d *deleting) wanted() <-chan struct{} {
	if d == nil {
		return nil
	}
	return d.due
}

func (d *deleting) wake() {
	select {
	case d.due <- struct{}{}:
	default:
	}
}

// follow heeds each deletion as it is decided, until ctx ends.
func (d *deleting) follow(ctx context.Context) {
	for ctx.Err() == nil {
		err := d.fates.Follow(ctx, func(id uint64, fate pipelines.Fate) {
			if fate.Deleted() && fate.GoneNs == 0 && fate.Trouble == "" {
				d.removal.Deleted.Add(id)
				d.wake()
			}
		})
		if err != nil && ctx.Err() == nil {
			d.log.Warn().Err(err).Msg("not told which runs are to be deleted, asking again")
		}
		select {
		case <-time.After(deleteAgain):
		case <-ctx.Done():
		}
	}
}

// all carries out what was decided.
func (d *deleting) all(ctx context.Context) {
	fates, err := d.fates.All(ctx)
	if err != nil {
		d.later(ctx, "", err)
		return
	}
	for id, fate := range fates {
		switch {
		case !fate.Deleted():
		case fate.GoneNs != 0:
			d.removal.Deleted.Add(id)
		default:
			d.carry(ctx, id, &fate)
		}
	}
}

func (d *deleting) carry(ctx context.Context, id uint64, fate *pipelines.Fate) {
	err := d.removal.Carry(ctx, id, fate)
	if err == nil {
		err = d.fates.Gone(ctx, id, d.now())
	}
	if err == nil {
		d.log.Log().Str("audit", "delete").Str("run", fate.Name).Str("by", fate.By).Msg("the run is deleted")
		return
	}
	if ctx.Err() == nil {
		_ = d.fates.Stuck(ctx, id, err) // for who waits: the log has it, too
	}
	d.later(ctx, fate.Name, err)
}

// later has what failed be tried again.
func (d *deleting) later(ctx context.Context, run string, err error) {
	if ctx.Err() != nil {
		return
	}
	d.log.Warn().Err(err).Str("run", run).Msg("the deletion of a run failed, trying again")
	time.AfterFunc(deleteAgain, d.wake)
}

// sweep takes from the stream what came late of deleted runs, and says how much that was.
func (d *deleting) sweep(ctx context.Context) {
	if d == nil {
		return
	}
	for id, count := range d.removal.Deleted.Late() {
		if count == d.told[id] {
			continue
		}
		if err := d.removal.Purge(ctx, id); err != nil {
			d.log.Warn().Err(err).Msg("what came late of a deleted run stays in the stream for now")
			continue
		}
		d.log.Warn().Str("run", schemas.FormatID(id)).Uint64("messages", count-d.told[id]).Msg("events of a deleted run came late and were refused, by tables and archive together")
		d.told[id] = count
	}
}

// leaveOut takes deleted runs out of the account.
func (a *account) leaveOut(deleted map[uint64]bool) {
	if len(deleted) == 0 {
		return
	}
	goes := func(b schemas.Batches) bool { return deleted[b.RunID] && schemas.OfRun(b.Kind) }
	for _, ledger := range []*schemas.Ledger{a.stream, a.tables, a.archive, a.before} {
		for _, b := range ledger.All() {
			if goes(b) {
				ledger.Remove(b)
			}
		}
	}
	for b := range a.keys {
		if goes(b) {
			delete(a.keys, b)
		}
	}
	for of := range a.rows {
		if deleted[of.run] {
			delete(a.rows, of)
		}
	}
	for id := range deleted {
		ofRun := schemas.FormatID(id) + "."
		maps.DeleteFunc(a.finished, func(key string, _ uint32) bool { return strings.HasPrefix(key, ofRun) })
	}
}

// lostMessages counts those of the stream that are gone, and were not removed with their runs.
func (c *Client) lostMessages(ctx context.Context, info *jetstream.StreamInfo) (uint64, error) {
	removed := c.Endpoint.Folder.purged()
	if made := info.Created.UnixNano(); info.State.NumDeleted == 0 || removed.Empty(made) {
		return uint64(info.State.NumDeleted), nil //nolint:gosec // a count
	}
	stream, err := c.stream.Stream(ctx, pipelines.StreamName)
	if err != nil {
		return 0, err
	}
	details, err := stream.Info(ctx, jetstream.WithDeletedDetails(true))
	if err != nil {
		return 0, err
	}
	return removed.Lost(info.Created.UnixNano(), details.State.Deleted), nil
}
