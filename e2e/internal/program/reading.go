package program

import (
	"encoding/csv"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// ParseCSV reads CSV with its header.
func ParseCSV(tb testing.TB, text string) [][]string {
	tb.Helper()
	rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil {
		tb.Fatalf("read CSV: %v in %s", err, text)
	}
	return rows
}

// LastLine is the last line that is not empty.
func LastLine(text string) string {
	text = strings.TrimSpace(text)
	return text[strings.LastIndexByte(text, '\n')+1:]
}

// TextFile writes a file, of rules for one.
func TextFile(tb testing.TB, text string) string {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), "tolerances")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		tb.Fatal(err)
	}
	return path
}

// Number reads a whole number.
func Number(tb testing.TB, text string) int {
	tb.Helper()
	var n int
	if _, err := fmt.Sscan(text, &n); err != nil {
		tb.Fatalf("read count %q: %v", text, err)
	}
	return n
}

// MostMemory is the most that a process has had so far, in bytes.
func MostMemory(tb testing.TB, pid int) int {
	tb.Helper()
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "status"))
	_, after, found := strings.Cut(string(text), "VmHWM:")
	kilobytes, _, _ := strings.Cut(strings.TrimSpace(after), " ")
	if err != nil || !found {
		tb.Fatalf("memory of process %d: %v", pid, err)
	}
	return Number(tb, kilobytes) << 10
}
