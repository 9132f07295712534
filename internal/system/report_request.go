package system

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/tensortap/tensortap/analysis/ask"
	"github.com/tensortap/tensortap/sql"
)

// Parameters of reports that no table knows.
const (
	unstoredParameter = "unstored" // steps that were published and are not stored
	measuredParameter = "measured" // what each run takes of the disk
)

// KnownHere says of a parameter of reports that the system knows its value, and nobody gives it.
func KnownHere(parameter string) bool {
	return parameter == unstoredParameter || parameter == measuredParameter
}

// RunParameters are the parameters that name a run.
func RunParameters() []string { return []string{"problem", "bench", "run", "calibrate"} }

// ReportRequest asks one report.
type ReportRequest struct {
	Report  sql.Report
	Given   map[string]string // the other parameters have their defaults
	Judging CompareRequest    // how runs are judged whose verdicts it reads; which runs, the parameters say

	Unchecked bool // what is missing of the runs is not looked for: it takes long where ranks have millions of steps
}

// ReadyReport has all that a report needs to be asked.
type ReadyReport struct {
	Query      string
	Parameters map[string]string
	Gaps       []string // what is missing of the runs
}

// ParameterError says that a parameter names what is not there.
type ParameterError struct {
	Parameter string
	Cause     error
}

// Error names the parameter as the command line does.
func (e *ParameterError) Error() string {
	return "--" + strings.ReplaceAll(e.Parameter, "_", "-") + ": " + e.Cause.Error()
}

// Unwrap is the cause.
func (e *ParameterError) Unwrap() error { return e.Cause }

// ofParameter is the error of a parameter; nil where there is none.
func ofParameter(name string, err error) error {
	if err == nil {
		return nil
	}
	return &ParameterError{name, err}
}

// PrepareReport checks that what is asked for is there, has missing verdicts judged, and finds what is missing of the runs.
func (c *Client) PrepareReport(ctx context.Context, r ReportRequest) (ReadyReport, error) {
	_, values, err := ask.Prepare(r.Report.Name, r.Given)
	if err != nil {
		return ReadyReport{}, err
	}
	if values["limit"] == "0" {
		values["limit"] = strconv.Itoa(math.MaxInt64)
	}
	ready := ReadyReport{Query: r.Report.Query, Parameters: values}
	if err := c.CheckPlaces(ctx, r); err != nil {
		return ready, err
	}
	return ready, c.fillReport(ctx, &r, &ready)
}

// CheckPlaces refuses runs, ranks and ops that are not there, which would give an empty answer.
func (c *Client) CheckPlaces(ctx context.Context, r ReportRequest) error {
	given := r.Given
	for _, name := range RunParameters() {
		if given[name] == "" {
			continue
		}
		if err := c.CheckRun(ctx, given[name]); err != nil {
			return ofParameter(name, err)
		}
	}
	if by := r.Judging.Calibrate; by != "" {
		if err := c.CheckRun(ctx, by); err != nil {
			return ofParameter("calibrate", err)
		}
	}
	run := given["problem"] + given["run"] // a report has one of these names
	if run == "" {
		return nil
	}
	if text, named := given["rank"]; named {
		if err := c.checkRankText(ctx, run, text); err != nil {
			return ofParameter("rank", err)
		}
	}
	if op := given["op"]; op != "" && r.Report.Name != "shapes" { // which takes part of a name
		return ofParameter("op", c.CheckOp(ctx, [2]string{run, cmp.Or(given["bench"], run)}, op))
	}
	return nil
}

func (c *Client) checkRankText(ctx context.Context, run, text string) error {
	rank, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return err
	}
	return c.CheckRank(ctx, run, rank)
}

// Runs are those that the request names, those by which it judges among them.
func (r *ReportRequest) Runs() []string {
	runs := append(namedRuns(r.Given), r.Judging.Benches...)
	if by := r.Judging.Calibrate; by != "" && !slices.Contains(runs, by) {
		runs = append(runs, by)
	}
	return runs
}

// compared is the comparison whose verdicts the report reads, of the runs that these parameters name.
func (r *ReportRequest) compared(parameters map[string]string) CompareRequest {
	compared := r.Judging
	compared.Problem, compared.Benches = parameters["problem"], append([]string{parameters["bench"]}, compared.Benches...)
	return compared
}

// Validate says what is wrong with how the runs are judged whose verdicts the report reads.
func (r *ReportRequest) Validate() error {
	if !r.Report.Judged() || r.Given["comparison"] != "" {
		return nil
	}
	return r.compared(r.Given).Validate()
}

// fillReport finds what no table knows, and the gaps of the answer, while missing verdicts are judged.
func (c *Client) fillReport(ctx context.Context, r *ReportRequest, ready *ReadyReport) (err error) {
	values := ready.Parameters
	if r.Report.Takes(unstoredParameter) {
		if values[unstoredParameter], err = c.Unstored(ctx, namedRuns(values)...); err != nil {
			return err
		}
	}
	var unknown []string
	if r.Report.Takes(measuredParameter) {
		var failed error
		if values[measuredParameter], failed = c.MeasuredRuns(ctx); failed != nil {
			unknown = append(unknown, fmt.Sprint("not known what runs take, and which are pinned: ", failed))
		}
	}
	group, fillCtx := errgroup.WithContext(ctx)
	if !r.Unchecked {
		group.Go(func() (err error) {
			ready.Gaps, err = c.Gaps(fillCtx, r.Runs()...)
			return err
		})
	}
	if r.Report.Judged() && values["comparison"] == "" {
		group.Go(func() (err error) {
			values["comparison"], err = c.Judged(fillCtx, r.compared(values))
			return err
		})
	}
	var unaligned []string
	if slices.Contains(r.Report.Reads, alignmentsView) {
		group.Go(func() (err error) {
			unaligned, err = c.storeAlignments(fillCtx, r)
			return err
		})
	}
	err = group.Wait()
	ready.Gaps = slices.Concat(unknown, ready.Gaps, unaligned)
	return err
}

// namedRuns are the runs that the parameters name.
func namedRuns(parameters map[string]string) []string {
	var runs []string
	for _, name := range RunParameters() {
		if run := parameters[name]; run != "" && !slices.Contains(runs, run) {
			runs = append(runs, run)
		}
	}
	return runs
}
