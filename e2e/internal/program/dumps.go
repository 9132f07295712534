package program

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	driver "github.com/ClickHouse/clickhouse-go/v2"
)

// Altered copies a dump and changes one number of one rank and step.
func Altered(tb testing.TB, dir, part string) string {
	tb.Helper()
	twin := filepath.Join(tb.TempDir(), "altered")
	if err := os.CopyFS(twin, os.DirFS(dir)); err != nil {
		tb.Fatal(err)
	}
	path := filepath.Join(twin, part, "dump.json")
	text, err := os.ReadFile(path)
	if err != nil {
		tb.Fatal(err)
	}
	at := regexp.MustCompile(`"Max": [-0-9.e]+`).FindIndex(text)
	if at == nil {
		tb.Fatalf("%s has no maximum to change", path)
	}
	changed := slices.Concat(text[:at[0]], []byte(`"Max": 123.5`), text[at[1]:])
	if err := os.WriteFile(path, changed, 0o600); err != nil {
		tb.Fatal(err)
	}
	return twin
}

// Execute runs a statement as the owner of the database.
func Execute(tb testing.TB, u *Up, statement string) {
	tb.Helper()
	options, err := driver.ParseDSN(u.Endpoint.ClickHouse)
	if err != nil {
		tb.Fatal(err)
	}
	conn, err := driver.Open(options)
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if err := conn.Exec(tb.Context(), statement); err != nil {
		tb.Fatalf("%s: %v", statement, err)
	}
}
