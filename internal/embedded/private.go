package embedded

import (
	"fmt"
	"syscall"
)

// CloseToOthers keeps what this process and its children leave from other users: files that a library makes with modes
// of its own, in a folder that somebody opened to all, and the memory of a crash, passwords with it.
func CloseToOthers() error {
	syscall.Umask(0o077)
	if err := syscall.Setrlimit(syscall.RLIMIT_CORE, &syscall.Rlimit{}); err != nil {
		return fmt.Errorf("forbid dumps of this process's memory: %w", err)
	}
	return nil
}
