package clickhouse_test

import (
	"context"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/tensortap/tensortap/consumers/clickhouse"
)

// folder is the repository's tables and, instead of its views, some that a test can change.
func folder(t *testing.T) fstest.MapFS {
	t.Helper()
	files := fstest.MapFS{
		"views/L1_numbers.sql": {Data: []byte("-- Question: Which 'numbers' are there?\n-- Grain: one row per number\nSELECT number AS n FROM system.numbers WHERE number < 10;\n")},
		"views/L2_pairs.sql":   {Data: []byte("SELECT n, n + 1 AS m FROM tap.numbers")},
		"reports/above.sql":    {Data: []byte("-- Question: Which are above?\nSELECT n, {label:String} AS label FROM tap.pairs WHERE n > {least:UInt64} ORDER BY n;\n")},
	}
	tables, err := filepath.Glob(sqlFiles + "/tables/*.sql")
	if err != nil || len(tables) == 0 {
		t.Fatalf("no tables under %s: %v", sqlFiles, err)
	}
	for _, path := range tables {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		files["tables/"+filepath.Base(path)] = &fstest.MapFile{Data: text}
	}
	return files
}

func mustMigrate(t *testing.T, s *server, files fs.FS) time.Duration {
	t.Helper()
	begin := time.Now()
	if err := clickhouse.Migrate(t.Context(), s.conn, files); err != nil {
		t.Fatal(err)
	}
	return time.Since(begin)
}

func TestMigrateMakesWhatIsMissingAndNothingTwice(t *testing.T) {
	t.Parallel()
	s := startEmptyServer(t)
	files := folder(t)
	fresh := mustMigrate(t, s, files)
	made := s.number(t, "SELECT sum(cityHash64(uuid, metadata_modification_time)) FROM system.tables WHERE database = 'tap'")
	again := mustMigrate(t, s, files)
	t.Logf("fresh %s, again %s", fresh, again)
	if got := s.number(t, "SELECT sum(cityHash64(uuid, metadata_modification_time)) FROM system.tables WHERE database = 'tap'"); got != made {
		t.Error("views were made again without a change")
	}
	if got := s.number(t, "SELECT sum(n) FROM tap.above(least = 6, label = 'x')"); got != 24 {
		t.Errorf("tap.above(6) sums to %d, want 24", got)
	}
	s.exec(t, "DROP TABLE tap_store.step SYNC")
	s.exec(t, "DROP VIEW tap.above")
	mustMigrate(t, s, files)
	if got := s.number(t, "SELECT count() FROM system.tables WHERE name IN ('step', 'above')"); got != 2 {
		t.Errorf("%d of 2 dropped objects are back", got)
	}
}

func TestEveryFileOfTheRepositoryApplies(t *testing.T) {
	t.Parallel()
	s := startEmptyServer(t)
	fresh := mustMigrate(t, s, os.DirFS(sqlFiles))
	again := mustMigrate(t, s, os.DirFS(sqlFiles))
	t.Logf("fresh %s, again %s", fresh, again)
}

func TestMigrateFollowsChangedViews(t *testing.T) {
	t.Parallel()
	s := startEmptyServer(t)
	files := folder(t)
	mustMigrate(t, s, files)
	s.exec(t, "CREATE VIEW tap.mine AS SELECT 1")
	files["views/L1_numbers.sql"] = &fstest.MapFile{Data: []byte("SELECT toUInt8(number) AS n FROM system.numbers WHERE number < 5")}
	delete(files, "reports/above.sql")
	mustMigrate(t, s, files)
	if got := s.number(t, "SELECT toUInt64(sum(m)) FROM tap.pairs"); got != 15 {
		t.Errorf("tap.pairs sums to %d, want 15", got)
	}
	if got := s.number(t, "SELECT count() FROM system.tables WHERE database = 'tap'"); got != 3 {
		t.Errorf("tap holds %d views, want numbers, pairs and mine", got)
	}
}

func TestChangedMigrationIsRefusedByName(t *testing.T) {
	t.Parallel()
	s := startEmptyServer(t)
	files := folder(t)
	files["tables/900_more.sql"] = &fstest.MapFile{Data: []byte("ALTER TABLE tap_store.step ADD COLUMN IF NOT EXISTS more UInt8;\nALTER TABLE tap_store.op ADD COLUMN IF NOT EXISTS more UInt8;\n")}
	mustMigrate(t, s, files)
	if got := s.number(t, "SELECT count() FROM system.columns WHERE database = 'tap_store' AND name = 'more'"); got != 2 {
		t.Errorf("%d of 2 columns added", got)
	}
	files["tables/900_more.sql"] = &fstest.MapFile{Data: []byte("ALTER TABLE tap_store.step ADD COLUMN IF NOT EXISTS other UInt8;\n")}
	if err := clickhouse.Migrate(t.Context(), s.conn, files); err == nil || !strings.Contains(err.Error(), "900_more.sql") {
		t.Errorf("Migrate with a changed file = %v, want an error that names it", err)
	}
}

func TestTableThatLacksAColumnIsNamedWithItsRemedy(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	s.exec(t, "ALTER TABLE tap_store.step DROP COLUMN phase")
	s.exec(t, "ALTER TABLE tap_store.step MODIFY COLUMN op_count UInt32 CODEC(T64)")
	s.exec(t, "ALTER TABLE tap_store.step ADD COLUMN extra String")
	err := clickhouse.CheckTables(t.Context(), s.conn)
	for _, want := range []string{"ADD COLUMN `phase` String", "MODIFY COLUMN `op_count` UInt64", "is UInt32"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("CheckTables = %v, want %q in it", err, want)
		}
	}
	if err != nil && strings.Contains(err.Error(), "extra") {
		t.Errorf("CheckTables = %v, want no word of the column that it does not know", err)
	}
	s.exec(t, "DROP TABLE tap_store.tensor SYNC")
	if err := clickhouse.CheckTables(t.Context(), s.conn); err == nil || !strings.Contains(err.Error(), "CREATE TABLE tap_store.tensor") {
		t.Errorf("CheckTables = %v, want the missing table in it", err)
	}
}

func TestQueryTakesParametersAsTheyAre(t *testing.T) {
	t.Parallel()
	s := startEmptyServer(t)
	mustMigrate(t, s, folder(t))
	hostile := "it's {x:String} \\N \\' \t\n\x01\r 测试 'quoted' \\"
	for sql, parameters := range map[string]map[string]string{
		"SELECT {label:String} AS label":                                          {"label": hostile},
		"SELECT label FROM tap.above(least = {least:UInt64}, label = {l:String})": {"least": "8", "l": hostile},
		"SELECT {list:Array(String)}[2] AS label":                                 {"list": "['a','b']"},
		"SELECT 'no parameter' AS label":                                          nil,
	} {
		result, err := clickhouse.Query(t.Context(), s.conn, sql, parameters, "RawBLOB")
		if err != nil {
			t.Errorf("%s: %v", sql, err)
			continue
		}
		got, err := io.ReadAll(result)
		if err := result.Close(); err != nil {
			t.Error(err)
		}
		want := hostile
		switch {
		case parameters == nil:
			want = "no parameter"
		case parameters["list"] != "":
			want = "b"
		}
		if string(got) != want || err != nil {
			t.Errorf("%s: got %q, %v, want %q", sql, got, err, want)
		}
	}
}

func TestQueryThatFailsLateSaysSo(t *testing.T) {
	t.Parallel()
	s := startEmptyServer(t)
	result, err := clickhouse.Query(context.Background(), s.conn, "SELECT throwIf(number = 3000000) FROM numbers(5000000)", nil, "ArrowStream")
	if err == nil {
		_, err = io.Copy(io.Discard, result)
		_ = result.Close()
	}
	if err == nil || !strings.Contains(err.Error(), "throwIf") {
		t.Errorf("got %v, want the server's error", err)
	}
}

func TestATableThatWasMadeBeforeAColumnGetsIt(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ table, column, migration, insert, ask string }{
		{
			"tables/022_heartbeat.sql", "debugged_since_time_ns", "tables/040_heartbeat_debugged.sql",
			"INSERT INTO tap_store.heartbeat (run_id, rank, state) VALUES (1, 0, 'ended')",
			"SELECT count() FROM tap.heartbeats WHERE debugged_since_time_ns IS NULL",
		},
		{
			"tables/019_memory.sql", "component", "tables/041_memory_component.sql",
			"INSERT INTO tap_store.memory (run_id, rank, device) VALUES (1, 0, 'cpu')",
			"SELECT count() FROM tap.memories WHERE component = 'all' AND basis = ''",
		},
	} {
		t.Run(c.column, func(t *testing.T) {
			t.Parallel()
			s := startEmptyServer(t)
			before := folder(t)
			var lines []string
			for line := range strings.Lines(string(before[c.table].Data)) {
				if !strings.Contains(line, "`"+c.column+"`") {
					lines = append(lines, line)
				}
			}
			before[c.table] = &fstest.MapFile{Data: []byte(strings.Join(lines, ""))}
			delete(before, c.migration)
			if err := clickhouse.Migrate(t.Context(), s.conn, before); err == nil || !strings.Contains(err.Error(), "ADD COLUMN `"+c.column+"`") {
				t.Fatalf("Migrate to the tables of before = %v, want that the column is missing", err)
			}
			s.exec(t, c.insert)
			mustMigrate(t, s, os.DirFS(sqlFiles))
			if got := s.number(t, c.ask); got != 1 {
				t.Errorf("%d rows of before are in the view, want 1", got)
			}
		})
	}
}

// TestAnEarlierProgramThatStartsAgainTakesItsViewsBack has an upgrade that goes process by process: the later program starts, an
// earlier one stores on and is started again, and at last the later one, too.
func TestAnEarlierProgramThatStartsAgainTakesItsViewsBack(t *testing.T) {
	t.Parallel()
	s := startEmptyServer(t)
	earlier, later := folder(t), folder(t)
	later["tables/999_step_mood.sql"] = &fstest.MapFile{Data: []byte("ALTER TABLE tap_store.step ADD COLUMN IF NOT EXISTS mood String;\n")}
	later["views/L1_moods.sql"] = &fstest.MapFile{Data: []byte("SELECT run_id, mood FROM tap_store.step")}
	later["views/L1_numbers.sql"] = &fstest.MapFile{Data: []byte("SELECT number AS n FROM system.numbers WHERE number < 20")}
	const (
		moods   = "SELECT count() FROM tap.moods WHERE mood = ''"
		numbers = "SELECT count() FROM tap.numbers"
	)
	mustMigrate(t, s, earlier)
	mustMigrate(t, s, later)
	s.exec(t, "INSERT INTO tap_store.step (run_id, rank) VALUES (1, 0)") // as the earlier program, which names the columns that it knows
	if got := s.number(t, moods); got != 1 {
		t.Errorf("%d rows of the earlier program are in the later one's view, want 1", got)
	}
	mustMigrate(t, s, earlier)
	if got := s.number(t, numbers); got != 10 {
		t.Errorf("a view has %d rows once the earlier program has started again, want its own 10", got)
	}
	if got := s.number(t, "SELECT count() FROM system.tables WHERE database = 'tap' AND name = 'moods'"); got != 0 {
		t.Error("the earlier program left a view that it does not know")
	}
	if got := s.number(t, "SELECT count() FROM system.columns WHERE database = 'tap_store' AND table = 'step' AND name = 'mood'"); got != 1 {
		t.Error("the earlier program took the later one's column away")
	}
	mustMigrate(t, s, later)
	if got, all := s.number(t, moods), s.number(t, numbers); got != 1 || all != 20 {
		t.Errorf("the later program's views have %d and %d rows once it has started again, want 1 and 20", got, all)
	}
}
