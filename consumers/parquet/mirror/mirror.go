// Package mirror keeps a copy of an archive in a bucket of S3-compatible storage, and reads it back.
//
//	event=tensor/run=00f0…/000000000001-5c91….parquet   a file of the archive; its name ends with the hash of its content
//	manifest/ARCHIVE/000000000001-0-512-77ab…           a piece of the archive's manifest
//
// The folder stays the archive: files are made durable, checked and mended there. A file is copied once the manifest lists it,
// and its line after it. So each file of a line was in the bucket, and one that is not was lost there.
package mirror

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/rs/zerolog"
	"github.com/zeebo/xxh3"

	"github.com/tensortap/tensortap/consumers/parquet"
	"github.com/tensortap/tensortap/internal/bucket"
	"github.com/tensortap/tensortap/schemas"
)

// Config says what is copied how.
type Config struct {
	ArchiveID string        // id of the archive, which tells its lines from those of others
	State     string        // file that says how far the copy is
	Look      time.Duration // how often the archive is asked for new files
	Longest   time.Duration // longest pause before what failed is tried again
	Log       zerolog.Logger
	Now       func() time.Time
}

// DefaultConfig looks each second.
func DefaultConfig() Config { return Config{Look: time.Second, Longest: time.Minute} }

// Mirror copies the files of an archive as they come.
type Mirror struct {
	cfg     Config
	bucket  *bucket.Bucket
	archive *parquet.Writer

	objects sync.Mutex      // held while objects change: no upload meets a removal
	known   bool            // what the bucket had at the start was looked at
	there   map[string]bool // objects that the bucket has, until the lines of all are there, too
	backlog []parquet.File  // of the archive as it was at the start, until the bucket has them all
	number  uint64          // of the last object of lines
	noted   int64           // place in the manifest up to which lines and files are in the bucket

	status book
}

// New copies an archive, which is open before Run is called and until that has returned.
func New(cfg Config, to *bucket.Bucket, archive *parquet.Writer) *Mirror {
	m := &Mirror{cfg: cfg, bucket: to, archive: archive, there: map[string]bool{}}
	m.status.path, m.status.now.Place = cfg.State, to.Place().String()
	return m
}

// Run copies until ctx ends. What fails is tried again for ever.
func (m *Mirror) Run(ctx context.Context) error {
	pause := m.cfg.Look
	for {
		err := m.round(ctx)
		if ctx.Err() != nil {
			return nil //nolint:nilerr // it was stopped
		}
		pause = m.after(err, pause)
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return nil
		}
	}
}

// after notes how a round ended, and is the pause before the next one.
func (m *Mirror) after(err error, pause time.Duration) time.Duration {
	was := m.status.failure(err)
	switch {
	case err != nil:
		if was != err.Error() {
			m.cfg.Log.Warn().Err(err).Msg("the archive is not copied to its bucket for now, trying again")
		}
		return min(2*pause, m.cfg.Longest)
	case was != "":
		m.cfg.Log.Info().Str("place", m.bucket.Place().String()).Msg("the archive is copied to its bucket again")
	}
	return m.cfg.Look
}

// round copies what the manifest lists now.
func (m *Mirror) round(ctx context.Context) error {
	if err := m.begin(ctx); err != nil {
		return err
	}
	text, err := m.archive.ManifestFrom(m.noted)
	if err != nil || len(text) == 0 && m.backlog == nil {
		return err
	}
	files := append(m.backlog, parquet.ReadListing(text).Files...)
	m.status.waiting(m.cfg.Now(), files)
	for _, f := range files {
		if err := m.copy(ctx, f); err != nil {
			return err
		}
	}
	if err := m.note(ctx, text); err != nil {
		return err
	}
	m.backlog, m.there = nil, map[string]bool{} // what comes is new
	m.status.noted(m.noted)
	return nil
}

// begin looks once what the bucket has: it is asked, and nothing else is believed. What it has of runs that were deleted is
// removed.
func (m *Mirror) begin(ctx context.Context) error {
	if m.known {
		return nil
	}
	all, err := m.archive.ManifestFrom(0)
	if err != nil {
		return err
	}
	listing := parquet.ReadListing(all)
	if err := m.look(ctx, &listing); err != nil {
		return err
	}
	if err := m.findEnd(ctx, all); err != nil {
		return err
	}
	m.backlog, m.known = append([]parquet.File{}, listing.Files...), true
	return nil
}

// look lists the files in the bucket.
func (m *Mirror) look(ctx context.Context, archive *parquet.Listing) error {
	var gone []string
	for o, err := range m.bucket.List(ctx, filesBegin) {
		if err != nil {
			return err
		}
		f, ok := fileOf(o)
		if ok && archive.OfDeleted(f) {
			gone = append(gone, o.Name)
		}
		if ok {
			m.there[place(o.Name, o.Size)] = true
		}
	}
	return m.bucket.Remove(ctx, gone...)
}

// place tells an object from one that was cut.
func place(name string, size int64) string { return fmt.Sprint(name, " ", size) }

// findEnd finds the place in the manifest up to which the bucket has its lines. Where these are of another manifest, as that of
// the archive was lost and made anew, all lines follow once more.
func (m *Mirror) findEnd(ctx context.Context, all []byte) error {
	var last lines
	for o, err := range m.bucket.List(ctx, linesBegin+m.cfg.ArchiveID+"/") {
		if err != nil {
			return err
		}
		if l, ok := parseLines(o.Name); ok && l.number > last.number {
			last = l
		}
	}
	m.number, m.noted = last.number, 0
	if last.end <= int64(len(all)) && last.number > 0 && xxh3.Hash(all[last.begin:last.end]) == last.hash {
		m.noted = last.end
	}
	return nil
}

// copy has a file be in the bucket. One that the archive has lost meanwhile, or that is damaged, is left out: the archive itself
// will say so, and have its batches written again.
func (m *Mirror) copy(ctx context.Context, f parquet.File) error {
	name := objectName(f)
	if m.there[place(name, f.Bytes)] {
		m.status.arrived(f)
		return nil
	}
	m.objects.Lock()
	defer m.objects.Unlock()
	file, err := os.Open(m.archive.Path(f))
	if err == nil {
		defer file.Close() //nolint:errcheck // only read
		err = f.Check(ctx, m.archive.Path(f))
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			m.cfg.Log.Error().Err(err).Str("file", f.Name).Msg("a file of the archive is not as it was written, and is not copied to the bucket")
		}
		m.status.skipped(f)
		return nil
	}
	if err := m.bucket.Put(ctx, name, file, f.Bytes); err != nil {
		return err
	}
	m.there[place(name, f.Bytes)] = true
	m.status.copied(f)
	return nil
}

// note has lines be in the bucket whose files are.
func (m *Mirror) note(ctx context.Context, text []byte) error {
	if len(text) == 0 {
		return nil
	}
	l := linesOf(m.cfg.ArchiveID, m.number+1, m.noted, text)
	if err := m.bucket.Put(ctx, l.name(), bytes.NewReader(text), int64(len(text))); err != nil {
		return err
	}
	m.number, m.noted = l.number, l.end
	return nil
}

// Remove removes kinds of a run's events that the archive no longer has, all if none is named. It may be repeated.
func (m *Mirror) Remove(ctx context.Context, runID uint64, kinds ...string) error {
	m.objects.Lock()
	defer m.objects.Unlock()
	var gone []string
	for _, table := range schemas.Tables() {
		kind := table.Kind()
		if !schemas.OfRun(kind) || len(kinds) > 0 && !slices.Contains(kinds, kind) {
			continue
		}
		for o, err := range m.bucket.List(ctx, filesBegin+kind+"/run="+schemas.FormatID(runID)+"/") {
			if err != nil {
				return fmt.Errorf("remove a run from the copy of the archive: %w", err)
			}
			gone = append(gone, o.Name)
		}
	}
	if err := m.bucket.Remove(ctx, gone...); err != nil {
		return fmt.Errorf("remove a run from the copy of the archive: %w", err)
	}
	return nil
}

// Status says how far the copy is. It may be called at any time.
func (m *Mirror) Status() Status { return m.status.get() }
