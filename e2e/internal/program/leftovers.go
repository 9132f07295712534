package program

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// LeavesNothing checks that the folder of temporary files is empty and that no process uses it.
func LeavesNothing(t *testing.T, s Setting) {
	t.Helper()
	folder := strings.TrimPrefix(s.Env[0], "TMPDIR=")
	left, err := os.ReadDir(folder)
	if err != nil || len(left) > 0 {
		t.Errorf("temporary files left: %v, %v", left, err)
	}
	// A child that was told to end may take a moment to be gone.
	for deadline := time.Now().Add(Patience); len(ProcessesOf(t, folder)) > 0; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("processes left: %v", ProcessesOf(t, folder))
		}
	}
}

// ProcessesOf lists the processes that have the folder in their environment, or something in it open.
func ProcessesOf(tb testing.TB, folder string) []string {
	tb.Helper()
	processes, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		tb.Fatal(err)
	}
	var found []string
	for _, process := range processes {
		text, _ := os.ReadFile(filepath.Join(process, "environ"))
		uses := strings.Contains(string(text), folder+"\x00")
		links, _ := filepath.Glob(filepath.Join(process, "fd", "*"))
		for _, link := range append(links, filepath.Join(process, "cwd")) {
			target, _ := os.Readlink(link)
			uses = uses || strings.HasPrefix(target, folder)
		}
		if uses && process != fmt.Sprintf("/proc/%d", os.Getpid()) {
			found = append(found, process)
		}
	}
	return found
}
