//go:build !linux

package embedded

import (
	"errors"
	"syscall"
)

func confine(_, _ []string) error {
	return errors.New("only Linux can confine it")
}

// childAttributes keeps the terminal's Ctrl-C from the child: its parent stops it, in order.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}

// machineMemory is not asked for here.
func machineMemory() int64 { return 0 }

func closeMemory() error { return nil }
