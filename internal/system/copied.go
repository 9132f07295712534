package system

import (
	"context"
	"errors"
	"path/filepath"

	"golang.org/x/sync/errgroup"

	"github.com/tensortap/tensortap/consumers/parquet/mirror"
	"github.com/tensortap/tensortap/internal/bucket"
	"github.com/tensortap/tensortap/internal/health"
)

// copied is the file that says how far the copy of the archive in a bucket is.
func (f Folder) copied() string { return filepath.Join(string(f), "archive.copied") }

// Copied says how far the copy of the archive in a bucket is; false where there is none.
func (f Folder) Copied() (mirror.Status, bool, error) { return mirror.ReadStatus(f.copied()) }

// copyTo prepares the copy of the archive, if it is to have one.
func (a *archive) copyTo(cfg Config) error {
	if !cfg.ArchiveTo.Named() {
		return nil
	}
	to, err := bucket.Open(cfg.ArchiveTo, 1)
	if err != nil {
		return err
	}
	mirroring := mirror.DefaultConfig()
	if mirroring.ArchiveID, err = cfg.Folder.archiveID(); err != nil {
		return err
	}
	mirroring.State, mirroring.Log, mirroring.Now = cfg.Folder.copied(), cfg.Log, cfg.Now
	a.mirror, a.now = mirror.New(mirroring, to, a.writer), cfg.Now
	return nil
}

// copy copies the archive until ctx ends.
func (a *archive) copy(ctx context.Context, group *errgroup.Group) {
	if a != nil && a.mirror != nil {
		group.Go(func() error { return a.mirror.Run(ctx) })
	}
}

// deliverAndCopy stores the stream in the archive, and copies that.
func (c *consumption) deliverAndCopy(ctx context.Context, store *archive) error {
	c.cfg.Health.Archive(func() health.Archived { return health.Archived(store.writer.Stats()) })
	c.cfg.Health.Copied(store.copying)
	group, filling := errgroup.WithContext(ctx)
	group.Go(func() error {
		return c.patiently(filling, func(ctx context.Context) error { return c.deliverArchive(ctx, store) })
	})
	store.copy(filling, group)
	return group.Wait()
}

// removeCopied removes kinds of a run's events from the archive's copy; nil where there is none.
func (a *archive) removeCopied() func(ctx context.Context, runID uint64, kinds ...string) error {
	if a.mirror == nil {
		return nil
	}
	return a.mirror.Remove
}

// copying is how far the copy is, for who watches.
func (a *archive) copying() health.Copied {
	if a.mirror == nil {
		return health.Copied{}
	}
	s := a.mirror.Status()
	c := health.Copied{
		Files: s.Files, Bytes: s.Bytes, Skipped: s.Skipped, Failures: s.Failures,
		WaitingFiles: s.WaitingFiles, WaitingBytes: s.WaitingBytes,
	}
	if !s.BehindSince.IsZero() {
		c.Behind = max(0, a.now().Sub(s.BehindSince))
	}
	return c
}

// bucketTries is how often a request of a restore is sent before that ends: with the pauses between them some minutes.
const bucketTries = 10

// RestoreBucket is Restore from the copy of an archive in a bucket.
func (c *Client) RestoreBucket(ctx context.Context, place bucket.Place, progress func(done, all int64), waiting func(error)) (Restored, error) {
	return c.restoring(ctx, place.String(), func() (Restored, error) {
		from, err := bucket.Open(place, bucketTries)
		if err != nil {
			return Restored{}, err
		}
		opened, err := mirror.OpenCopied(ctx, from)
		if err != nil {
			return Restored{}, err
		}
		return c.restore(ctx, place.String(), opened.Messages(ctx), progress, waiting)
	})
}

// isUnread says whether what is restored could not be read on, and not one file of it alone.
func isUnread(err error) bool { return errors.Is(err, mirror.ErrUnread) }
