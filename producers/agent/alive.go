package agent

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/tensortap/tensortap/schemas"
)

// clockSlack is how far the clocks that tell a process's start may disagree.
const clockSlack = 2 * time.Second

// alive says whether the process that the header names still runs. One in another namespace of processes is not found,
// but gives signs of life: only one that is silent for so long is dead.
func alive(head schemas.SpoolHead, now time.Time, silence time.Duration) bool {
	started, found := processStart(head.PID)
	if found && !started.After(time.Unix(0, head.StartedNs).Add(clockSlack)) {
		return true
	}
	return now.Sub(time.Unix(0, max(head.HeartbeatNs, head.StartedNs))) < silence
}

// processStart is when the process began, if there is one that is more than a zombie. Where that is not to be learnt it
// is the zero time.
func processStart(pid uint64) (time.Time, bool) {
	if pid == 0 || pid > 1<<31-1 {
		return time.Time{}, false
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		err := syscall.Kill(int(pid), 0) //nolint:gosec // just bounded
		return time.Time{}, err == nil || errors.Is(err, syscall.EPERM)
	}
	// The name in brackets may hold anything; what follows its last bracket is the state and then numbers.
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	const stateField, startField = 0, 19
	if len(fields) <= startField || fields[stateField] == "Z" || fields[stateField] == "X" {
		return time.Time{}, false
	}
	ticks, err := strconv.ParseInt(fields[startField], 10, 64)
	boot, known := bootTime()
	if err != nil || !known {
		return time.Time{}, true
	}
	const ticksPerSecond = 100 // of /proc, on every Linux
	return boot.Add(time.Duration(ticks) * time.Second / ticksPerSecond), true
}

func bootTime() (time.Time, bool) {
	stat, err := os.ReadFile("/proc/stat")
	if err != nil {
		return time.Time{}, false
	}
	for line := range strings.Lines(string(stat)) {
		if text, ok := strings.CutPrefix(line, "btime "); ok {
			seconds, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
			return time.Unix(seconds, 0), err == nil
		}
	}
	return time.Time{}, false
}
