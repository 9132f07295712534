package embedded

import (
	"fmt"
	"syscall"

	"golang.org/x/sys/unix"
)

// childAttributes keeps the terminal's Ctrl-C from the child (its parent stops it, in order), and has the kernel kill
// it should the parent die, in case the closed pipe goes unheeded.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// machineMemory returns the machine's memory in bytes, 0 if unknown.
func machineMemory() int64 {
	var info unix.Sysinfo_t
	if err := unix.Sysinfo(&info); err != nil {
		return 0
	}
	return int64(info.Totalram) * int64(info.Unit) //nolint:gosec // no machine has 8 EiB
}

// closeMemory keeps other processes of this user out of this one's memory. Only the engine does so: a child in a user
// namespace could not be set up by a parent that is closed.
func closeMemory() error {
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("close the engine's memory: %w", err)
	}
	return nil
}
