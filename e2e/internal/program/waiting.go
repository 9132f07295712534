package program

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// Served waits until an agent has published everything below the root and removed it.
func Served(tb testing.TB, root string) {
	tb.Helper()
	if err := Await(Patience, "an agent to publish all below "+root, func() bool { return Published(root) }); err != nil {
		tb.Fatal(err)
	}
}

// Published says whether no process has a folder below the root.
func Published(root string) bool {
	folders, err := filepath.Glob(filepath.Join(root, "*-*"))
	return err == nil && len(folders) == 0
}

// Await polls until holds, with a pause where the question is a command, since others need the processors too.
func Await(patience time.Duration, what string, holds func() bool) error {
	for deadline := time.Now().Add(patience); ; {
		asked := time.Now()
		if holds() {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("waited %v for %s", patience, what)
		}
		time.Sleep(min(max(time.Since(asked), 2*time.Millisecond), 20*time.Millisecond))
	}
}

// ChildrenOf lists the processes that the process has started and that run, least number first.
func ChildrenOf(parent int) []int {
	var children []int
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range stats {
		if state, of := statOf(path); of == parent && state != "Z" {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
			children = append(children, pid)
		}
	}
	slices.Sort(children)
	return children
}

// Zombie says whether a process has ended, and nobody has asked how.
func Zombie(pid int) bool {
	state, _ := statOf(fmt.Sprintf("/proc/%d/stat", pid))
	return state == "Z"
}

// statOf reads the state and the parent of a process.
func statOf(path string) (state string, parent int) {
	text, err := os.ReadFile(path)
	if err != nil {
		return "", 0
	}
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	if len(fields) < 2 {
		return "", 0
	}
	parent, _ = strconv.Atoi(fields[1])
	return fields[0], parent
}

// Patience is how long an event may take where the machine has much else to do.
const Patience = 2 * time.Minute
