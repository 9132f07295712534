package clickhouse

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"github.com/tensortap/tensortap/schemas"
)

// Release returns once no INSERT with rows of the run is under way, also of a process before this one, and forgets which of
// its batches are stored. Nobody may write messages of the run from then on.
func (w *Writer) Release(ctx context.Context, runID uint64) error {
	for _, t := range w.tables {
		if err := t.release(ctx, runID); err != nil {
			return err
		}
	}
	return nil
}

func (t *table) release(ctx context.Context, runID uint64) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.doubt = t.doubt || !t.abandoned.none()
	t.stored.forgetRun(runID)
	return t.settle(ctx)
}

// forgetRun forgets all producers of a run.
func (m *memory) forgetRun(runID uint64) {
	for p := range m.sets {
		if p.runID == runID {
			delete(m.sets, p)
		}
	}
}

// ofProblem is the run of a row about a comparison, which goes with its problem.
const ofProblem = "xxh3(concat(problem, char(31)))"

// owner says by which expression a row of a table belongs to a run; where a comparison says it, also which table has these.
// Rows that several runs share have none.
func owner(table schemas.Table) (run, comparisons string) {
	switch has := func(column string) bool { return table.Column(column) >= 0 }; {
	case !schemas.OfRun(table.Kind()):
		return "", ""
	case has("run_id"):
		return "run_id", ""
	case has("problem_run_id"):
		return "problem_run_id", ""
	case has("problem"):
		return ofProblem, ""
	case table.Kind() == schemas.Finding().Kind():
		return "problem_id", schemas.Comparison().Kind()
	case table.Kind() == schemas.Origin().Kind():
		return "problem_id", schemas.DeclaredComparison().Kind()
	}
	return "", ""
}

// removal is the condition of the rows that go with a run.
func removal(table schemas.Table, runID uint64) string {
	of, comparisons := owner(table)
	if comparisons == "" {
		return fmt.Sprintf("%s = %d", of, runID)
	}
	return fmt.Sprintf("comparison_id IN (SELECT comparison_id FROM %s.%s WHERE %s = %d)", storeDatabase, comparisons, ofProblem, runID)
}

// countRows counts the rows of a table by runs.
func countRows(table schemas.Table) string {
	run, comparisons := owner(table)
	query := fmt.Sprintf("SELECT '%s' AS name, toUInt64(%s) AS run, count() AS row_count FROM %s.%[1]s", table.Kind(), cmp.Or(run, "0"), storeDatabase)
	if comparisons != "" {
		query += fmt.Sprintf(" LEFT ANY JOIN (SELECT comparison_id, %s AS problem_id FROM %s.%s) AS compared USING (comparison_id)", ofProblem, storeDatabase, comparisons)
	}
	return query + " GROUP BY run"
}

// Share is what a run has of a table; run 0 stands for all that several runs share.
type Share struct {
	RunID uint64
	Table string
	Rows  uint64
	Bytes uint64 // on the disk, by the share of the rows
}

// Shares are those of all runs, with the derived table.
func Shares(ctx context.Context, conn driver.Conn) ([]Share, error) {
	counts := []string{fmt.Sprintf("SELECT '%s' AS name, run_id AS run, count() AS row_count FROM %s.%[1]s GROUP BY run", derivedTable, storeDatabase)}
	for _, table := range schemas.Tables() {
		counts = append(counts, countRows(table))
	}
	query := "SELECT run, name, row_count, toUInt64(row_count / table_row_count * size) FROM (" +
		"SELECT name, run, row_count, sum(row_count) OVER (PARTITION BY name) AS table_row_count FROM (" + strings.Join(counts, " UNION ALL ") + ") WHERE row_count > 0" +
		") AS counted LEFT ANY JOIN (SELECT table AS name, sum(bytes_on_disk) AS size FROM system.parts WHERE database = '" + storeDatabase + "' AND active GROUP BY name" +
		") AS sized USING (name) ORDER BY run, name"
	var shares []Share
	err := eachRow(ctx, conn, query, func(rows driver.Rows) error {
		var s Share
		err := rows.Scan(&s.RunID, &s.Table, &s.Rows, &s.Bytes)
		shares = append(shares, s)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("count what each run has of the tables: %w", err)
	}
	return shares, nil
}

// RemoveRun takes all rows of a run out of the tables. It may be repeated, and killed. A Writer that might write rows of the
// run must have released it.
func RemoveRun(ctx context.Context, conn driver.Conn, runID uint64) error {
	// What is being added up just now would come behind the removal. That it fails is its own matter.
	_ = conn.Exec(ctx, "SYSTEM WAIT VIEW "+storeDatabase+"."+derivingView)
	for _, table := range byDependence() {
		if run, _ := owner(table); run == "" {
			continue
		}
		if err := DeleteRows(ctx, conn, table.Kind(), removal(table, runID)); err != nil {
			return err
		}
	}
	_ = conn.Exec(ctx, "SYSTEM WAIT VIEW "+storeDatabase+"."+derivingView)
	for _, table := range []string{derivedTable, removedPartsTable} {
		if err := DeleteRows(ctx, conn, table, fmt.Sprintf("run_id = %d", runID)); err != nil {
			return err
		}
	}
	return nil
}

// RemoveKinds is RemoveRun for some kinds of a run's events, that have its id. What is added up of them stays.
func RemoveKinds(ctx context.Context, conn driver.Conn, runID uint64, kinds ...string) error {
	for _, kind := range kinds {
		if err := DeleteRows(ctx, conn, kind, fmt.Sprintf("run_id = %d", runID)); err != nil {
			return err
		}
	}
	return nil
}

// removedPartsTable has which parts of which runs retention removed while the runs stayed.
const removedPartsTable = "removal"

// NoteRemoval notes that a part of a run is about to be removed, as was decided then: views tell it from what was lost. It may
// be repeated.
func NoteRemoval(ctx context.Context, conn driver.Conn, runID uint64, part string, decidedNs int64) error {
	noted, err := Removed(ctx, conn, runID, part)
	if err != nil || noted {
		return err
	}
	err = conn.Exec(ctx, fmt.Sprintf("INSERT INTO %s.%s (run_id, part, decided_time_ns) SETTINGS async_insert = 0 VALUES (%d, %s, %d)",
		storeDatabase, removedPartsTable, runID, quote(part), decidedNs))
	if err != nil {
		return fmt.Errorf("note what is removed of run %s: %w", schemas.FormatID(runID), err)
	}
	return nil
}

// Removed says whether it is noted that a part of a run was removed.
func Removed(ctx context.Context, conn driver.Conn, runID uint64, part string) (bool, error) {
	var count uint64
	sql := fmt.Sprintf("SELECT count() FROM %s.%s WHERE run_id = %d AND part = %s", storeDatabase, removedPartsTable, runID, quote(part))
	if err := conn.QueryRow(ctx, sql).Scan(&count); err != nil {
		return false, fmt.Errorf("look what was removed of run %s: %w", schemas.FormatID(runID), err)
	}
	return count > 0, nil
}

// byDependence are all tables: those by whose rows others are found come last.
func byDependence() []schemas.Table {
	var found, finding []schemas.Table
	for _, table := range schemas.Tables() {
		if table.Column("problem") >= 0 {
			finding = append(finding, table)
			continue
		}
		found = append(found, table)
	}
	return append(found, finding...)
}
