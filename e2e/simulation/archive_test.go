package simulation

import (
	"context"
	"fmt"
	"time"

	"github.com/tensortap/tensortap/consumers/parquet"
	"github.com/tensortap/tensortap/e2e/internal/simulated"
	"github.com/tensortap/tensortap/internal/dev/forgetful"
	"github.com/tensortap/tensortap/schemas"
)

// archive runs the writer of the archive.
func (w *world) archive(ctx context.Context, l *life) {
	mount, err := w.disk.Mount(l.crash)
	if err != nil {
		w.fail("%s: %v", l.name, err)
		return
	}
	stop := context.AfterFunc(ctx, mount.Kill)
	defer stop()
	writer := w.open(ctx, mount)
	if writer == nil {
		return
	}
	w.deliver(ctx, l, archive, writer)
	_ = writer.Close() // whatever the disk says, nothing is written any more
}

// open opens the archive as soon as the disk allows, and holds it against what was acknowledged.
func (w *world) open(ctx context.Context, mount *simulated.Mount) *parquet.Writer {
	cfg := parquet.DefaultConfig()
	cfg.Dir, cfg.Disk, cfg.PageBytes = mount.Dir, mount.Disk(), 4<<10 // each column has a buffer of that size
	for ctx.Err() == nil {
		writer, err := parquet.New(cfg)
		if err != nil {
			w.fail("archive: %v", err)
			return nil
		}
		found, err := writer.Open(ctx)
		if err != nil {
			time.Sleep(time.Second)
			continue
		}
		// A line that could not be synced, of a file that is therefore removed, may be there after all: that file is lost, and
		// nobody was told that it is there.
		if found.Quarantined > 0 {
			w.fail("the archive opens with %+v", found)
		}
		w.checkKept(writer)
		return writer
	}
	return nil
}

// checkKept holds an archive that was just opened against what was acknowledged before.
func (w *world) checkKept(writer *parquet.Writer) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	for batch := range w.kept {
		if !writer.Held().Has(batch) {
			w.failures = append(w.failures, fmt.Sprintf("batch %+v was acknowledged, and the archive lost it", batch))
		}
	}
}

// archived notes what the archive has promised to keep.
func (w *world) archived(m schemas.Message) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.kept[schemas.BatchOf(m.Header.Kind, m.Header.Identity)] = true
}

// checkArchive takes the power away once more. What is left then is all that the stream has, each batch once.
func (w *world) checkArchive() {
	if w.disk == nil {
		return
	}
	mount, err := w.disk.MountAfter(forgetful.Everything, func() {})
	if err != nil {
		w.fail("archive: %v", err)
		return
	}
	ctx := context.WithoutCancel(w.ctx)
	writer := w.open(ctx, mount)
	damaged, err := writer.Verify(ctx)
	if len(damaged) > 0 || err != nil {
		w.fail("the archive is damaged: %v, %v", damaged, err)
	}
	if err := writer.Close(); err != nil {
		w.fail("close archive: %v", err)
	}
	w.checkSaved(ctx, mount.Dir)
}

// checkSaved holds what the archive gives back against the stream, and against the tables.
func (w *world) checkSaved(ctx context.Context, dir string) {
	rows := map[schemas.Batches]int{}
	for m, err := range parquet.Saved(ctx, dir) {
		if err != nil {
			w.fail("%v", err)
			continue
		}
		batch := schemas.BatchOf(m.Header.Kind, m.Header.Identity)
		if rows[batch] > 0 {
			w.fail("the archive has %s twice", m.ID())
		}
		rows[batch] = m.Header.Rows
		if have := w.database.Rows(m.Header.Kind, m.Header.Identity); !definition(m) && have != uint64(m.Header.Rows) {
			w.fail("the archive has %d rows of %s, the tables %d", m.Header.Rows, m.ID(), have)
		}
	}
	for _, m := range w.server.Messages("TAP") {
		message, err := schemas.ParseMessage(m.Subject, m.Header, m.Data, m.Sequence)
		if err != nil {
			if !w.dead[fmt.Sprint(archive, " ", m.Sequence)] {
				w.fail("message %d has no dead letter of the archive: %v", m.Sequence, err)
			}
			continue
		}
		if have := rows[schemas.BatchOf(message.Header.Kind, message.Header.Identity)]; have != message.Header.Rows {
			w.fail("the archive has %d rows of %s, want %d", have, message.ID(), message.Header.Rows)
		}
	}
}
