package system

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strconv"

	"github.com/zeebo/xxh3"

	"github.com/tensortap/tensortap/analysis/ask"
	"github.com/tensortap/tensortap/analysis/report"
	"github.com/tensortap/tensortap/pipelines"
	"github.com/tensortap/tensortap/schemas"
)

// MostFindings is how many places of one comparison are stored; the counts of the comparison tell of all.
const MostFindings = 10_000

// StoreComparison publishes a comparison of stored runs and the places that it
// names, in their order. It fills in the ids, the positions and, where that is
// 0, the time, and returns the id of the comparison once the stream has it.
// The time is no part of the id: an answer that is the latest to its question
// already is not published again, and keeps its time.
func (c *Client) StoreComparison(ctx context.Context, made schemas.ComparisonRow, findings []schemas.FindingRow) (uint64, error) {
	if made.CreatedTimeNs == 0 {
		made.CreatedTimeNs = c.now().UnixNano()
	}
	findings = findings[:min(len(findings), MostFindings)]
	placed := make([]schemas.FindingRow, len(findings))
	for i, f := range findings {
		f.ComparisonID, f.Position = 0, uint32(i) //nolint:gosec // MostFindings at most
		f.Error, f.Tolerance = known(f.Error), known(f.Tolerance)
		placed[i] = f
	}
	made.ComparisonID = comparisonID(made, placed)
	for i := range placed {
		placed[i].ComparisonID = made.ComparisonID
	}
	latest, at, err := c.latestAnswer(ctx, &made)
	if err != nil {
		return 0, fmt.Errorf("look for the last comparison of %s: %w", made.Problem, err)
	}
	if latest == made.ComparisonID {
		return latest, nil
	}
	made.CreatedTimeNs = max(made.CreatedTimeNs, at+1) // also where the other host's clock goes before
	if err := c.publishComparison(ctx, &made, placed); err != nil {
		return 0, fmt.Errorf("store the comparison of %s: %w", made.Problem, err)
	}
	return made.ComparisonID, nil
}

// known is nil for what is not a number: null is what says that something was not measured.
func known(v *float64) *float64 {
	if v == nil || math.IsNaN(*v) {
		return nil
	}
	return v
}

// latestAnswer is the id of the last comparison that was asked the same, and its time; 0 where there is none.
func (c *Client) latestAnswer(ctx context.Context, made *schemas.ComparisonRow) (id uint64, timeNs int64, err error) {
	table, err := c.Table(ctx, "SELECT toString(argMax(comparison_id, created_time_ns)) AS latest, toString(max(created_time_ns)) AS at FROM tap_store.comparison "+
		"WHERE problem = {problem:String} AND benches = {benches:Array(String)} AND question = {question:String}",
		map[string]string{"problem": made.Problem, "benches": ask.Texts(made.Benches), "question": made.Question})
	if err != nil || len(table.Rows) == 0 {
		return 0, 0, err
	}
	if id, err = strconv.ParseUint(table.Get(0, "latest").Exact, 10, 64); err != nil {
		return 0, 0, err
	}
	timeNs, err = strconv.ParseInt(table.Get(0, "at").Exact, 10, 64)
	return id, timeNs, err
}

// comparisonID is the hash of the content, whenever it was made.
func comparisonID(made schemas.ComparisonRow, findings []schemas.FindingRow) uint64 {
	made.ComparisonID, made.CreatedTimeNs = 0, 0
	hasher := xxh3.New()
	text, err := json.Marshal(made)
	if err == nil {
		_, _ = hasher.Write(text) // a hash never fails
	}
	for _, f := range findings {
		// Not as JSON, which knows no infinity.
		_, _ = fmt.Fprintf(hasher, "\x1f%d %d %d %q %s %s", f.Origin, f.Rank, f.Step,
			[]string{f.Op, f.Module, f.Role, f.Path, f.Kind, f.Verdict, f.Evidence, f.UserFrame}, number(f.Error), number(f.Tolerance))
	}
	return hasher.Sum64()
}

func number(v *float64) string {
	if v == nil {
		return "-"
	}
	return fmt.Sprint(*v)
}

// findingsBatch keeps a message far below what a stream takes, with names as long as they may be.
const findingsBatch = 500

// publishComparison sends the places first, so that who sees the comparison finds them.
func (c *Client) publishComparison(ctx context.Context, made *schemas.ComparisonRow, findings []schemas.FindingRow) error {
	job := publishing{client: c}
	publisher, err := job.newPublisher()
	if err != nil {
		return err
	}
	defer publisher.Close()
	id := schemas.Identity{RunID: schemas.RunID(made.Problem), Epoch: made.ComparisonID}
	rows := schemas.NewBuilder[schemas.FindingRow]()
	for i := range findings {
		rows.Append(&findings[i])
		if rows.Len() < findingsBatch && i+1 < len(findings) {
			continue
		}
		if err := publishBatch(ctx, publisher, rows, id); err != nil {
			return err
		}
		id.Batch++
	}
	id.Batch = uint64(made.CreatedTimeNs) //nolint:gosec // any number that is another where the answer comes back after others
	comparisons := schemas.NewBuilder[schemas.ComparisonRow]()
	comparisons.Append(made)
	if err := publishBatch(ctx, publisher, comparisons, id); err != nil {
		return err
	}
	return publisher.Flush(ctx)
}

func publishBatch[R any, P schemas.Row[R]](ctx context.Context, to *pipelines.Publisher, rows *schemas.Builder[R, P], id schemas.Identity) error {
	message, err := rows.Message(id)
	if err != nil {
		return err
	}
	return to.Publish(ctx, message)
}

// Findings are the places that an answer names: its origins, then what else
// differs. Both tables have the columns of the reports of those names; a column
// that is not there is empty.
func Findings(origins, divergence report.Table) []schemas.FindingRow {
	var found []schemas.FindingRow
	seen := map[string]bool{}
	for i, table := range []report.Table{origins, divergence} {
		for row := range table.Rows {
			f := finding(table, row)
			key := fmt.Sprintf("%d %d %q %q %q", f.Rank, f.Step, f.Op, f.Role, f.Path)
			if seen[key] {
				continue
			}
			seen[key] = true
			if i == 0 {
				f.Origin = 1
			} else {
				f.Kind = ""
			}
			found = append(found, f)
		}
	}
	return found
}

func finding(t report.Table, row int) schemas.FindingRow {
	text := func(column string) string { return t.Get(row, column).Exact }
	return schemas.FindingRow{
		Rank: uint32(count(t, row, "rank")), Step: uint32(count(t, row, "step")), //nolint:gosec // they are such numbers in the table
		Op: text("op"), Module: text("module"), Role: text("role"), Path: text("path"), Kind: text("kind"),
		Verdict: text("verdict"), Evidence: text("evidence"), UserFrame: text("user_frame"),
		Error: measured(t, row, "error"), Tolerance: measured(t, row, "tolerance"),
	}
}

// count is a whole number of a row, 0 where there is none.
func count(t report.Table, row int, column string) uint64 {
	if v := t.Get(row, column).Number; v > 0 {
		return uint64(v)
	}
	return 0
}

// measured is a number of a row, nil where there is none.
func measured(t report.Table, row int, column string) *float64 {
	v := t.Get(row, column).Number
	return known(&v)
}
