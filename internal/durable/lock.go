package durable

import (
	"errors"
	"os"
	"syscall"
)

// Unlock gives a lock back and closes its file. To close alone is not enough: a process that this one is just
// starting has the file open too until it runs its program, and would keep the lock.
func Unlock(file *os.File) error {
	return errors.Join(syscall.Flock(int(file.Fd()), syscall.LOCK_UN), file.Close())
}
