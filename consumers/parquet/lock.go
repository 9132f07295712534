package parquet

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/tensortap/tensortap/internal/durable"
)

// ErrInUse says that another process has the archive open. Its reader tells the user, and does not
// try again by itself.
var ErrInUse = errors.New("archive is in use by another process")

// lockFolder keeps every other process out until the file is closed, or this process ends.
func lockFolder(disk durable.Disk, dir string) (*durable.File, error) {
	f, err := disk.OpenFile(filepath.Join(dir, "lock"), os.O_RDWR|os.O_CREATE)
	if err != nil {
		return nil, fmt.Errorf("open lock: %w", err)
	}
	err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if err == nil {
		return f, nil
	}
	if errors.Is(err, unix.EWOULDBLOCK) {
		err = ErrInUse
	}
	return nil, errors.Join(fmt.Errorf("lock %s: %w", dir, err), f.Close())
}
