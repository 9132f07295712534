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

// clockSlack is the greatest disagreement of the clocks for a process's start.
const clockSlack = 2 * time.Second

// alive says whether the process of the header still runs. A process in another namespace is not found, but gives
// signs of life: it is dead only after it was silent for so long.
func alive(head schemas.SpoolHead, now time.Time, silence time.Duration) bool {
	started, found := processStart(head.PID)
	if found && !started.After(time.Unix(0, head.StartedNs).Add(clockSlack)) {
		return true
	}
	return now.Sub(time.Unix(0, max(head.HeartbeatNs, head.StartedNs))) < silence
}

// processStart is the start of the process, if it exists and is more than a zombie. An unknown start is the zero
// time.
func processStart(pid uint64) (time.Time, bool) {
	if pid == 0 || pid > 1<<31-1 {
		return time.Time{}, false
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		err := syscall.Kill(int(pid), 0) //nolint:gosec // just bounded
		return time.Time{}, err == nil || errors.Is(err, syscall.EPERM)
	}
	// The name in brackets may hold anything; the state and then numbers follow its last bracket.
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
