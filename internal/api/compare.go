package api

import (
	"context"
	"math"
	"net/http"
	"strconv"

	"github.com/tensortap/tensortap/analysis/report"
	"github.com/tensortap/tensortap/internal/steps"
	"github.com/tensortap/tensortap/internal/system"
	"github.com/tensortap/tensortap/sql"
)

// runsParameters name the two sides.
func runsParameters() []parameter {
	return []parameter{
		{Parameter: sql.Parameter{Name: "problem", Type: "String", Required: true, Doc: "Name of the run under suspicion."}},
		{Parameter: sql.Parameter{Name: "bench", Type: "String", Required: true, Doc: "Name of the run it is held against; given several times, the problem pairs with the first, and all make the band."}, Many: true},
	}
}

func compareParameters() []parameter {
	return append(append(runsParameters(), judgingParameters()...),
		parameter{Parameter: sql.Parameter{Name: "rank", Type: "Int64", Default: "-1", Doc: "Only this rank of the problem; -1 for all."}},
		parameter{Parameter: sql.Parameter{Name: "steps", Type: "String", Doc: "Only these steps of the problem, as 3-5 or 5-; all by default."}},
		parameter{Parameter: sql.Parameter{Name: "strict", Type: boolean, Default: "false", Doc: "Ops of one run only make the runs differ."}},
		parameter{Parameter: sql.Parameter{Name: "limit", Type: "UInt64", Default: "20", Doc: "Greatest number of differing tensors to list; 0 for all."}},
	)
}

// compare answers what `tensortap compare` does of stored runs.
func (a *API) compare(ctx context.Context, client *system.Client, w http.ResponseWriter, r *http.Request) error {
	request, told, known, err := a.beginComparison(ctx, client, w, r)
	if known || err != nil {
		return err
	}
	comparison, _, err := client.Compare(ctx, request)
	if err != nil {
		return err
	}
	tellGaps(w, append(told, comparison.Warnings...))
	describe(w, report.JSON)
	return report.WriteObject(w, comparison.Object(report.Style{Format: report.JSON, Program: a.cfg.Program}))
}

// beginComparison reads which runs are to be compared, and begins the answer as begin does.
func (a *API) beginComparison(ctx context.Context, client *system.Client, w http.ResponseWriter, r *http.Request) (request system.CompareRequest, gaps []string, known bool, err error) {
	values, err := readQuery(r, compareParameters())
	if err != nil {
		return request, nil, false, err
	}
	if request, err = a.compareRequest(values); err != nil {
		return request, nil, false, err
	}
	on := resting{runs: request.Sides(), judged: true}
	begun, err := a.begin(ctx, client, w, r, on)
	if begun.known || err != nil {
		return request, nil, begun.known, err
	}
	return request, begun.gaps, false, checkSides(ctx, client, &request)
}

func (a *API) compareRequest(values given) (system.CompareRequest, error) {
	request, err := values.judging()
	if err != nil {
		return request, err
	}
	request.Problem, request.Benches, request.ToolVersion = values["problem"][0], values["bench"], a.cfg.Version
	for name, texts := range values {
		switch name {
		case "rank":
			request.Rank, err = strconv.ParseInt(texts[0], 10, 64)
		case "steps":
			request.Steps, err = steps.Parse(texts[0])
		case "strict":
			request.Strict, err = strconv.ParseBool(texts[0])
		case "limit":
			request.Limit, err = strconv.ParseUint(texts[0], 10, 64)
		}
		if err != nil {
			return request, wrong(name, "parameter %s is %s: %v", name, shortened(texts[0]), err)
		}
	}
	if request.Limit == 0 {
		request.Limit = math.MaxInt64
	}
	return request, asWrong("", request.Validate())
}

// asWrong makes an error one of what was asked.
func asWrong(parameter string, err error) error {
	if err == nil {
		return nil
	}
	return wrong(parameter, "%v", err)
}

// checkSides refuses runs and ranks that are not there.
func checkSides(ctx context.Context, client *system.Client, r *system.CompareRequest) error {
	given := map[string]string{"problem": r.Problem, "rank": strconv.FormatInt(r.Rank, 10)}
	for _, bench := range r.Benches {
		given["bench"] = bench
		if err := client.CheckPlaces(ctx, system.ReportRequest{Given: given, Judging: *r}); err != nil {
			return err
		}
	}
	return nil
}
