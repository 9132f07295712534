package main

import (
	"encoding/csv"
	"strings"
	"testing"
)

// parseCSV reads CSV with its header.
func parseCSV(tb testing.TB, text string) [][]string {
	tb.Helper()
	rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil {
		tb.Fatalf("read CSV: %v in %s", err, text)
	}
	return rows
}

func TestVersionNamesTheEngineToo(t *testing.T) {
	t.Parallel()
	out := process(t, setting{}, "version")
	if out.status != 0 || !strings.HasPrefix(out.stdout, "tensortap dev (go") || !strings.Contains(out.stdout, "ClickHouse engine 26.") || out.stderr != "" {
		t.Error(out)
	}
}
