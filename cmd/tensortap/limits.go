package main

import (
	"errors"
	"fmt"
	"math"
	"os"
	"runtime/debug"

	"golang.org/x/sys/unix"
)

// needs are the least limits of a process with which a command can work.
type needs struct{ files, addressBytes, fileBytes, processes uint64 }

// Needs as measured, rounded up: an idle `up` has 42 files open and its engine 102, in 3.3 GB of addresses and with 35 threads.
func needsOfUp() needs    { return needs{512, 4 << 30, 1 << 30, 128} }
func needsOfStore() needs { return needs{256, 3 << 30, 1 << 30, 64} }
func needsOfHost() needs  { return needs{128, 2 << 30, 64 << 20, 64} }

// check names each limit that is too low, before anything of it fails for a reason that misleads.
func (n needs) check(command string) error {
	var low []error
	for _, l := range []struct {
		resource    int
		what, flag  string
		least, unit uint64
		notOfRoot   bool
	}{
		{unix.RLIMIT_NOFILE, "open files", "-n", n.files, 1, false},
		{unix.RLIMIT_AS, "KiB of address space", "-v", n.addressBytes, 1 << 10, false},
		{unix.RLIMIT_FSIZE, "KiB of a file", "-f", n.fileBytes, 1 << 10, false},
		{unix.RLIMIT_NPROC, "processes of this user", "-u", n.processes, 1, true},
	} {
		var have unix.Rlimit
		if l.notOfRoot && os.Geteuid() == 0 {
			continue
		}
		if err := unix.Getrlimit(l.resource, &have); err != nil || have.Cur >= l.least {
			continue
		}
		low = append(low, fmt.Errorf("%d %s are allowed and %d needed: raise it by `ulimit %s %d`, or where the limit comes from (limits.conf, the unit, the container)",
			have.Cur/l.unit, l.what, l.least/l.unit, l.flag, l.least/l.unit))
	}
	if err := errors.Join(low...); err != nil {
		return fmt.Errorf("start %s: a limit of this process is too low: %w", command, err)
	}
	return nil
}

// mostGarbage is the memory beyond which a process that takes messages collects garbage at once. What it holds is far less, but the
// remains of a few messages of 64 MiB are not.
const mostGarbage = 1 << 30

// boundGarbage keeps that limit, unless the environment has another in GOMEMLIMIT.
func boundGarbage() {
	if debug.SetMemoryLimit(-1) == math.MaxInt64 {
		debug.SetMemoryLimit(mostGarbage)
	}
}
