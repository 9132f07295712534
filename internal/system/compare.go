package system

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/sync/errgroup"

	"github.com/tensortap/tensortap/internal/report"
	"github.com/tensortap/tensortap/sql"
)

// CompareRequest says what to compare. Begin with DefaultCompareRequest.
type CompareRequest struct {
	Problem, Bench string // names of runs, or folders of msProbe dumps
	Tolerance      float64
	Rank, Step     int64 // -1 for all
	Limit          uint64
}

// DefaultCompareRequest compares everything.
func DefaultCompareRequest() CompareRequest {
	return CompareRequest{Tolerance: 1e-5, Rank: -1, Step: -1, Limit: 20}
}

// Validate says what is wrong with the request.
func (r CompareRequest) Validate() error {
	if math.IsNaN(r.Tolerance) || math.IsInf(r.Tolerance, 0) || r.Tolerance < 0 {
		return fmt.Errorf("tolerance %g: want a number from 0 on", r.Tolerance)
	}
	return nil
}

// FoldersOnly says whether both sides are dumps that still have to be read.
func (r CompareRequest) FoldersOnly() bool { return isPath(r.Problem) && isPath(r.Bench) }

func isPath(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}

// Compare publishes what is not stored yet and holds the two runs against each other.
func (c *Client) Compare(ctx context.Context, r CompareRequest) (report.Comparison, error) {
	if err := r.Validate(); err != nil {
		return report.Comparison{}, err
	}
	comparison := report.Comparison{
		Problem: r.Problem, Bench: r.Bench, Tolerance: r.Tolerance, Stored: !r.FoldersOnly(),
		ProblemArgument: quoted(r.Problem), BenchArgument: quoted(r.Bench),
	}
	if err := c.provide(ctx, &comparison); err != nil {
		return comparison, err
	}
	if err := c.fill(ctx, r, &comparison); err != nil {
		return comparison, err
	}
	comparison.Verdict = comparison.Judge()
	return comparison, nil
}

// quoted is a word as a shell reads it.
func quoted(word string) string {
	plain := func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("_-./", r) }
	switch {
	case word != "" && strings.IndexFunc(word, func(r rune) bool { return !plain(r) }) < 0:
		return word
	case strings.IndexFunc(word, func(r rune) bool { return !unicode.IsPrint(r) }) < 0:
		return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
	}
	// The form of bash and zsh for what would spoil a terminal.
	text := strconv.Quote(word)
	return "$'" + strings.NewReplacer(`\"`, `"`, `'`, `\'`).Replace(text[1:len(text)-1]) + "'"
}

// provide makes sure that both runs are stored.
func (c *Client) provide(ctx context.Context, comparison *report.Comparison) error {
	if comparison.Stored {
		for _, run := range []string{comparison.Problem, comparison.Bench} {
			if isPath(run) && c.CheckRun(ctx, run) != nil {
				return fmt.Errorf("%s is a folder and the other side a stored run: publish it first: tensortap publish msprobe %s --run NAME", run, quoted(run))
			}
			if err := c.CheckRun(ctx, run); err != nil {
				return err
			}
		}
		return nil
	}
	problem, bench := comparison.Problem, comparison.Bench
	comparison.Problem, comparison.Bench = runNames(problem, bench)
	group, publishCtx := errgroup.WithContext(ctx)
	var problems, benchProblems PublishResult
	group.Go(func() (err error) {
		problems, err = c.publishFolder(publishCtx, comparison.Problem, problem)
		return err
	})
	group.Go(func() (err error) {
		benchProblems, err = c.publishFolder(publishCtx, comparison.Bench, bench)
		return err
	})
	if err := group.Wait(); err != nil {
		return err
	}
	comparison.Warnings = slices.Concat(problems.Problems, benchProblems.Problems)
	comparison.WarningCount = problems.ProblemCount + benchProblems.ProblemCount
	return c.WaitStored(ctx)
}

// runNames makes two different names for the runs in two folders. A path may be longer than a name, or not be text.
func runNames(problem, bench string) (string, string) {
	const most = 190
	names := []string{problem, bench}
	for i, path := range names {
		runes := []rune(strings.ToValidUTF8(path, "?"))
		if len(runes) > most {
			runes = append([]rune{'…'}, runes[len(runes)-most+1:]...)
		}
		names[i] = string(runes)
	}
	if names[0] == names[1] {
		names[1] += " (bench)"
	}
	return names[0], names[1]
}

func (c *Client) publishFolder(ctx context.Context, run, path string) (PublishResult, error) {
	return c.PublishMsprobe(ctx, PublishRequest{Path: filepath.Clean(path), Run: run}, func(int64, int64) {})
}

// fill asks all that the note shows.
func (c *Client) fill(ctx context.Context, r CompareRequest, comparison *report.Comparison) error {
	parameters := r.parameters(comparison)
	group, askCtx := errgroup.WithContext(ctx)
	for name, table := range map[string]*report.Table{
		"divergence_summary": &comparison.Summary, "divergence": &comparison.Divergence,
		"run_differences": &comparison.RunDifferences,
	} {
		group.Go(func() error {
			var err error
			*table, err = c.Report(askCtx, name, parameters)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	if len(comparison.Divergence.Rows) == 0 && comparison.Summary.Sum("differing_count") > 0 {
		comparison.TextsOnly = true
		parameters = r.parameters(comparison)
		var err error
		if comparison.Divergence, err = c.Report(ctx, "divergence", parameters); err != nil {
			return err
		}
	}
	for _, run := range []string{comparison.Problem, comparison.Bench} {
		table, err := c.Report(ctx, "completeness", map[string]string{"run": run})
		if err != nil {
			return err
		}
		comparison.Completeness.Columns = table.Columns
		comparison.Completeness.Rows = append(comparison.Completeness.Rows, table.Rows...)
	}
	return nil
}

// parameters are those of the reports. Text is left out while anything else differs.
func (r CompareRequest) parameters(c *report.Comparison) map[string]string {
	texts := "0"
	if c.TextsOnly {
		texts = "1"
	}
	return map[string]string{
		"problem": c.Problem, "bench": c.Bench,
		"tolerance": strconv.FormatFloat(r.Tolerance, 'g', -1, 64),
		"rank":      strconv.FormatInt(r.Rank, 10), "step": strconv.FormatInt(r.Step, 10),
		"limit": strconv.FormatUint(r.Limit, 10), "texts": texts,
	}
}

// Report answers a report by its name; parameters that are not given have their defaults.
func (c *Client) Report(ctx context.Context, name string, parameters map[string]string) (report.Table, error) {
	r, values, err := prepareReport(name, parameters)
	if err != nil {
		return report.Table{}, err
	}
	return c.Table(ctx, r.Query, values)
}

// prepareReport fills in the defaults and leaves out what the report does not take.
func prepareReport(name string, parameters map[string]string) (sql.Report, map[string]string, error) {
	r, err := sql.ReportByName(name)
	if err != nil {
		return r, nil, err
	}
	values := map[string]string{}
	for _, p := range r.Parameters {
		values[p.Name] = p.Default
		if given, ok := parameters[p.Name]; ok {
			values[p.Name] = given
		}
	}
	return r, values, nil
}

// WriteComparison writes the note, one JSON object, or, in the other formats, the tensors that differ.
func (c *Client) WriteComparison(ctx context.Context, to io.Writer, style report.Style, r CompareRequest, comparison *report.Comparison) error {
	switch style.Format {
	case report.Text:
		return comparison.WriteNote(to, style.Color)
	case report.JSON:
		encoder := json.NewEncoder(to)
		encoder.SetIndent("", "  ")
		return encoder.Encode(comparison.Object())
	case report.CSV, report.Arrow, report.Parquet:
	}
	query, values, err := prepareReport("divergence", r.parameters(comparison))
	if err != nil {
		return err
	}
	return c.Query(ctx, to, style.Format, query.Query, values)
}

// CheckRun says whether a run of that name is stored.
func (c *Client) CheckRun(ctx context.Context, run string) error {
	table, err := c.Table(ctx, "SELECT count() AS found FROM tap.runs WHERE name = {run:String}", map[string]string{"run": run})
	if err != nil {
		return err
	}
	if table.Get(0, "found").Exact == "0" {
		return fmt.Errorf("no run is named %q; `tensortap runs` lists those that are", run)
	}
	return nil
}
