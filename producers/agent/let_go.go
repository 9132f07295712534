package agent

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/tensortap/tensortap/internal/durable"
)

// LetGo removes folders that nobody serves and whose time is over, with the events in them, and counts them. A folder that an agent
// has, or that is written to meanwhile, stays. It may be called while Run runs.
func (a *Agent) LetGo(over func(Spool) bool) error {
	root, err := openRoot(a.cfg.Root)
	if missing(err) {
		return nil
	}
	if err != nil {
		return err
	}
	defer root.Close() //nolint:errcheck // only read
	found, err := Spools(a.cfg.Root)
	for i := range found {
		if over(found[i]) {
			err = errors.Join(err, a.letGo(root, &found[i], over))
		}
	}
	return err
}

func (a *Agent) letGo(root *os.Root, s *Spool, over func(Spool) bool) error {
	gone, err := retireUnserved(root, s.Name, func() bool { return over(spoolOf(root, a.cfg.Root, s.Name)) })
	if gone {
		a.counts.LetGo.Add(1)
		a.counts.LetGoBytes.Add(uint64(s.Bytes)) //nolint:gosec // a size
		a.cfg.Tell(fmt.Sprintf("spool %s of run %q is let go by the rules of retention: %d bytes that nobody published, last written on %s",
			filepath.Join(a.cfg.Root, s.Name), s.Run, s.Bytes, s.Touched.UTC().Format(time.DateTime)))
	}
	if err != nil {
		return fmt.Errorf("let go of spool %s: %w", s.Name, err)
	}
	return nil
}

// retireUnserved removes a folder unless an agent has its lock, or it is no longer wanted to go.
func retireUnserved(root *os.Root, name string, still func() bool) (gone bool, err error) {
	folder, err := openOwn(root.Lstat, root.OpenRoot, name)
	if missing(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer folder.Close() //nolint:errcheck // only its names were written
	lock, err := openFile(folder, lockFile, os.O_RDWR|os.O_CREATE)
	if err != nil {
		return false, err
	}
	defer durable.Unlock(lock) //nolint:errcheck // nothing is written through it
	if syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil || !still() {
		return false, nil
	}
	return true, discardWhole(root, name)
}

// discardWhole renames a folder before it removes it: half removed, it would look like that of a process that has just begun.
func discardWhole(root *os.Root, name string) error {
	if err := root.Rename(name, name+retiredSuffix); err != nil {
		return err
	}
	if err := syncNames(root); err != nil { // a loss of power must not leave it half removed under its old name
		return err
	}
	return root.RemoveAll(name + retiredSuffix)
}
