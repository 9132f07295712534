package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// TestTheAgentLooksWhereTheCollectorWrites holds the rule against cases that the collector's tests hold theirs against.
func TestTheAgentLooksWhereTheCollectorWrites(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("..", "..", "producers", "torch", "tests", "testdata", "spool_roots.json"))
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		Environment map[string]string `json:"environment"`
		Root        string            `json:"root"`
	}
	if err := json.Unmarshal(text, &cases); err != nil || len(cases) == 0 {
		t.Fatalf("%d cases: %v", len(cases), err)
	}
	for _, c := range cases {
		a := &app{getenv: func(name string) string { return c.Environment[name] }}
		want := strings.ReplaceAll(c.Root, "{uid}", strconv.Itoa(os.Getuid()))
		if got := a.spoolRoot(); got != want {
			t.Errorf("root of spools in %v is %s, want %s", c.Environment, got, want)
		}
	}
}

func TestTheDefaultSpoolLiesWhereItLasts(t *testing.T) {
	t.Parallel()
	there := t.TempDir()
	missing := filepath.Join(there, "missing")
	for _, c := range []struct {
		folders []string
		want    string
	}{
		{[]string{there, missing}, there},
		{[]string{missing, there}, there},
		{[]string{missing, missing}, missing},
	} {
		if got := lastingFolder(c.folders...); got != c.want {
			t.Errorf("of %q the first that can be written is %s, want %s", c.folders, got, c.want)
		}
	}
}
