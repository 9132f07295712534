package system

import (
	"context"
	"errors"
	"path/filepath"
	"time"

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

// deleting carries deletions out of some stores. Nobody may fill these from others meanwhile.
type deleting struct {
	fates   *pipelines.Fates
	stream  *retention.Stream
	removal *retention.Removal
	stores  []string // by their consumers
	log     zerolog.Logger
	now     func() time.Time
	due     chan struct{} // filled where there may be something to do
	told    map[uint64]uint64
}

// newDeleting heeds all deletions until now: from then on nothing more is stored of these runs. With note it is known of
// messages that they were removed from the stream.
func (c *Client) newDeleting(ctx context.Context, r *retention.Removal, log zerolog.Logger, stores ...string) (*deleting, error) {
	var fates *pipelines.Fates
	err := unhurried(ctx, logWaiting(log), func() (err error) {
		fates, err = pipelines.OpenFates(ctx, c.stream)
		return err
	})
	if err != nil {
		return nil, err
	}
	d := &deleting{
		fates: fates, stream: &retention.Stream{JetStream: c.stream, Note: fates.Purged}, removal: r, stores: stores, log: log, now: c.now,
		due: make(chan struct{}, 1), told: map[uint64]uint64{},
	}
	all, err := fates.All(ctx)
	for id, fate := range all {
		d.heed(id, &fate)
	}
	return d, err
}

// heed has nothing more be stored of what goes.
func (d *deleting) heed(id uint64, fate *pipelines.Fate) {
	for _, part := range fate.Removals() {
		d.removal.Deleted.Add(id, part)
	}
}

// deletions are those out of all stores of a system, where it stays. It has finished those that were under way, as far as it can.
func (s *System) deletions(ctx context.Context, client *Client, store *archive, tables *clickhouse.Writer) (*deleting, error) {
	if store == nil {
		return nil, nil //nolint:nilnil // a system that is thrown away deletes nothing
	}
	removal := &retention.Removal{
		Database: client.database, Tables: tables, Archive: store.writer, Copied: store.removeCopied(), Local: s.cfg.Folder.local(s.cfg.Serve.Spool), Deleted: s.deleted,
	}
	if s.cfg.Serve.Payloads != "" {
		removal.Local.Payloads = s.cfg.Serve.Payloads
	}
	d, err := client.newDeleting(ctx, removal, s.cfg.Log, databaseConsumer, archiveConsumer)
	if err != nil {
		return nil, err
	}
	d.stream.Note = s.cfg.Folder.purged().Add // exactly, for who makes the tables anew from the stream
	removal.Stream = d.stream
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
			d.heed(id, &fate)
			for _, part := range fate.Removals() {
				if going := fate.Removal(part); len(going.Left(d.stores)) > 0 && going.Troubles[d.stores[0]] == "" {
					d.wake()
				}
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
		for _, part := range fate.Removals() {
			if len(fate.Removal(part).Left(d.stores)) > 0 {
				d.carry(ctx, id, part, &fate)
			}
		}
	}
}

func (d *deleting) carry(ctx context.Context, id uint64, part string, fate *pipelines.Fate) {
	err := d.removal.Carry(ctx, id, part, fate)
	if err == nil {
		err = d.rid(ctx, id, part)
	}
	switch {
	case err == nil && part == retention.Whole:
		d.log.Log().Str("audit", "delete").Str("run", fate.Name).Str("by", fate.By).Strs("stores", d.stores).Msg("the run is deleted")
	case err == nil:
		d.log.Log().Str("audit", "delete").Str("run", fate.Name).Str("by", fate.By).Str("part", part).Strs("stores", d.stores).Msg("a part of a run is removed")
	case errors.Is(err, retention.ErrTooEarly): // its fate changes as others see to it
	case ctx.Err() == nil:
		_ = d.fates.Stuck(ctx, id, part, d.stores[0], err) // for who waits: the log has it, too
		d.later(ctx, fate.Name, err)
	}
}

// rid notes that these stores have nothing any more of what goes.
func (d *deleting) rid(ctx context.Context, id uint64, part string) error {
	all, err := stores(ctx, d.stream.JetStream)
	if err != nil {
		return err
	}
	return d.fates.Rid(ctx, id, part, d.stores, namesOf(all), d.now())
}

// later has what failed be tried again.
func (d *deleting) later(ctx context.Context, run string, err error) {
	if ctx.Err() != nil {
		return
	}
	d.log.Warn().Err(err).Str("run", run).Msg("the deletion of a run failed, trying again")
	time.AfterFunc(deleteAgain, d.wake)
}

// sweep takes from the stream what came late of what goes, and says how much that was.
func (d *deleting) sweep(ctx context.Context) {
	if d == nil {
		return
	}
	for id, count := range d.removal.Deleted.Late() {
		if count == d.told[id] {
			continue
		}
		if err := d.purge(ctx, id); err != nil {
			d.log.Warn().Err(err).Msg("what came late of a deleted run stays in the stream for now")
			continue
		}
		d.log.Warn().Str("run", schemas.FormatID(id)).Uint64("messages", count-d.told[id]).Strs("stores", d.stores).Msg("events of a deleted run came late and were refused")
		d.told[id] = count
	}
	d.conclude(ctx)
}

// sweepOthers takes from the stream what others refused of what goes, who were killed before they could sweep.
func (d *deleting) sweepOthers(ctx context.Context) {
	if d == nil {
		return
	}
	late, err := pipelines.RunsInStream(ctx, d.stream.JetStream)
	for id := range d.removal.Deleted.Runs() {
		if late[id] {
			err = errors.Join(err, d.purge(ctx, id))
		}
	}
	if err != nil && ctx.Err() == nil {
		d.log.Warn().Err(err).Msg("what may have come late of deleted runs stays in the stream until the next start")
	}
}

func (d *deleting) purge(ctx context.Context, id uint64) error {
	var err error
	for _, part := range d.removal.Deleted.Runs()[id] {
		err = errors.Join(err, d.stream.Purge(ctx, id, part))
	}
	return err
}

// conclude notes what is gone since a store that still had something of it is no more.
func (d *deleting) conclude(ctx context.Context) {
	fates, err := d.fates.All(ctx)
	for id, fate := range fates {
		for _, part := range fate.Removals() {
			if going := fate.Removal(part); going.GoneNs == 0 && len(going.Left(d.stores)) == 0 {
				err = errors.Join(err, d.rid(ctx, id, part))
			}
		}
	}
	if err != nil && ctx.Err() == nil {
		d.log.Warn().Err(err).Msg("not noted which runs are gone, looking again later")
	}
}
