package clickhouse_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/tensortap/tensortap/consumers/clickhouse"
)

// TestTablesOfEveryEarlierProgramAreBroughtUpToDate makes the tables as each text of their files did that was ever committed, which
// testdata/tables.sh keeps, and then starts as today's program does. Some files were changed without a migration.
func TestTablesOfEveryEarlierProgramAreBroughtUpToDate(t *testing.T) {
	t.Parallel()
	kept := t.TempDir()
	if said, err := exec.CommandContext(t.Context(), "tar", "-xzf", "testdata/tables.tar.gz", "-C", kept).CombinedOutput(); err != nil {
		t.Fatalf("unpack the tables: %v\n%s", err, said)
	}
	tables, err := filepath.Glob(filepath.Join(kept, "*"))
	if err != nil || len(tables) == 0 {
		t.Fatalf("find the tables: %v, %v", tables, err)
	}
	s := startEmptyServer(t)
	for version, more := 0, true; more; version++ {
		s.exec(t, "DROP DATABASE IF EXISTS tap SYNC")
		s.exec(t, "DROP DATABASE IF EXISTS tap_store SYNC")
		s.exec(t, "CREATE DATABASE tap_store ENGINE = Atomic")
		more = false
		for _, table := range tables {
			versions, _ := filepath.Glob(filepath.Join(table, "*.sql")) // the pattern is good
			text, err := os.ReadFile(versions[min(version, len(versions)-1)])
			if err != nil {
				t.Fatal(err)
			}
			s.exec(t, string(text))
			more = more || version < len(versions)-1
		}
		if err := clickhouse.Migrate(t.Context(), s.conn, os.DirFS(sqlFiles)); err != nil {
			t.Errorf("start with version %d of each table: %v", version, err)
		}
	}
}
