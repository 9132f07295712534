package api

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/tensortap/tensortap/analysis/mapping"
	"github.com/tensortap/tensortap/analysis/report"
	"github.com/tensortap/tensortap/internal/system"
	"github.com/tensortap/tensortap/sql"
)

// reportRoutes are a path for each report, and /runs for that of runs.
func (a *API) reportRoutes() []route {
	reports, _ := sql.Reports() // a test parses all of them
	all := make([]route, 0, len(reports)+1)
	for _, r := range reports {
		one := route{
			method: http.MethodGet, path: root + "/reports/" + r.Name, title: sentence(r.Question), doc: "Gives " + r.Grain + ". Empty when " + r.EmptyWhen + ".",
			parameters: reportParameters(r), formats: formats(), answer: a.handle(a.ask(a.reporting(r))),
		}
		all = append(all, one)
		if r.Name == "runs" {
			one.path = root + "/runs"
			all = append(all, one)
		}
	}
	return append(all, route{method: http.MethodGet, path: root + "/reports/{name}", answer: a.handle(unknownReport)})
}

func unknownReport(_ http.ResponseWriter, r *http.Request) error {
	return notFound("no report is named %s: GET %s/reports lists them", shortened(r.PathValue("name")), root)
}

func sentence(text string) string { return strings.ToUpper(text[:1]) + text[1:] }

// reportParameters are those that who asks gives.
func reportParameters(r sql.Report) []parameter {
	var all []parameter
	for _, p := range r.Parameters {
		if system.KnownHere(p.Name) {
			continue
		}
		if p.Name == "limit" {
			p.Doc = strings.TrimSuffix(p.Doc, ".") + "; 0 for all."
		}
		all = append(all, parameter{Parameter: p})
	}
	if r.Judged() {
		all = append(all, judgingParameters()...)
		all = append(all, parameter{Parameter: sql.Parameter{Name: "benches", Type: "String", Doc: "Further bench runs; with three or more in all, their spread is the tolerance."}, Many: true})
	}
	return append(all, formatParameter(), columnsParameter(), uncheckedParameter())
}

// uncheckedParameter is for who draws a long run, and asks beside it whether all of it is stored.
func uncheckedParameter() parameter {
	return parameter{Parameter: sql.Parameter{Name: "unchecked", Type: boolean, Default: "false", Doc: "true to have the answer before it is known whether all of the runs is stored: without the header Tensortap-Incomplete. The report completeness tells that."}}
}

func columnsParameter() parameter {
	return parameter{Parameter: sql.Parameter{Name: "columns", Type: "String", Doc: "Only these columns of the answer in JSON or CSV, in this order, with commas between them."}}
}

// judgingParameters say how runs are judged. A file of rules is the command line's alone, and of a map the text is given: no
// file of this host is read for who asks.
func judgingParameters() []parameter {
	return []parameter{
		{Parameter: sql.Parameter{Name: "tolerance", Type: "Float64", Default: "-1", Doc: "Greatest relative error that is tolerated; by default by dtype and depth."}},
		{Parameter: sql.Parameter{Name: "step_offset", Type: "Int64", Default: "0", Doc: "Number to add to a step of the problem to get the step of the bench."}},
		{Parameter: sql.Parameter{Name: "map", Type: "String", Doc: "Text of a mapping file, which pairs modules of the problem with modules of the bench; none to pair by names alone, whatever map ships for the runs."}},
		{Parameter: sql.Parameter{Name: "calibrate", Type: "String", Doc: "Another run of the bench's program, as by other kernels or in other batches: a tensor may differ by twice as much as it does."}},
	}
}

// givenMap is what answers call the file of a map whose text was given.
const givenMap = "map.yaml"

// judging is how the request has runs judged.
func (g given) judging() (system.CompareRequest, error) {
	request := system.DefaultCompareRequest()
	request.Stored = true
	for name, texts := range g {
		var err error
		switch name {
		case "tolerance":
			request.Tolerance.Number, err = strconv.ParseFloat(texts[0], 64)
		case "step_offset":
			request.StepOffset, err = strconv.ParseInt(texts[0], 10, 64)
		case "map":
			if request.ByName = texts[0] == mapping.None; !request.ByName && texts[0] != "" {
				request.Map, err = mapping.Parse(givenMap, []byte(texts[0]))
			}
		case "calibrate":
			request.Calibrate = texts[0]
		case "benches":
			request.Benches = texts
		}
		if err != nil {
			return request, wrong(name, "parameter %s is %s: %v", name, shortened(texts[0]), err)
		}
	}
	if err := request.Tolerance.Validate(); err != nil {
		return request, wrong("tolerance", "%v", err)
	}
	return request, nil
}

// reporting answers one report.
func (a *API) reporting(r sql.Report) asking {
	known, steady := reportParameters(r), isSteady(r)
	return func(ctx context.Context, client *system.Client, w http.ResponseWriter, request *http.Request) error {
		values, err := readQuery(request, known)
		if err != nil {
			return err
		}
		asked := system.ReportRequest{Report: r, Given: map[string]string{}, Unchecked: values.one(uncheckedParameter()) == "true"}
		for _, p := range r.Parameters {
			if texts := values[p.Name]; len(texts) > 0 {
				asked.Given[p.Name] = texts[0]
			}
		}
		if asked.Judging, err = values.judging(); err != nil {
			return err
		}
		if err := asked.Validate(); err != nil {
			return asWrong("", err)
		}
		style, err := styleOf(request, values, r.Columns())
		if err != nil {
			return err
		}
		on := resting{runs: asked.Runs(), judged: r.Judged(), format: string(style.Format), untagged: !steady}
		begun, err := a.begin(ctx, client, w, request, on)
		if begun.known || err != nil {
			return err
		}
		ready, err := client.PrepareReport(ctx, asked)
		if err != nil {
			return err
		}
		if asked.Given["limit"] != "" {
			style.Limit, _ = strconv.ParseUint(ready.Parameters["limit"], 10, 64) // it was checked
		}
		tellGaps(w, append(begun.gaps, ready.Gaps...))
		describe(w, style.Format)
		return client.Write(ctx, w, style, ready.Query, ready.Parameters)
	}
}

// styleOf is how the answer is to look.
func styleOf(request *http.Request, values given, known []string) (report.Style, error) {
	format, err := formatOf(request, values)
	style := report.Style{Format: format}
	if columns := values.one(columnsParameter()); columns != "" && err == nil {
		if format != report.JSON && format != report.CSV {
			return style, wrong("columns", "an answer in %s has all columns", format)
		}
		style.Columns = strings.Split(columns, ",")
		for _, name := range style.Columns {
			if !slices.Contains(known, name) {
				return style, wrong("columns", "no column is named %s; there are: %s", shortened(name), strings.Join(known, ", "))
			}
		}
	}
	return style, err
}

// current has the database catch up with the stream, and says so where it does not.
func current(ctx context.Context, client *system.Client) []string {
	if err := client.WaitCurrent(ctx); err != nil {
		return []string{err.Error()}
	}
	return nil
}
