package api

import (
	"context"
	"errors"
	"net/http"
	"strconv"

	"github.com/tensortap/tensortap/analysis/explain"
	"github.com/tensortap/tensortap/analysis/report"
	"github.com/tensortap/tensortap/internal/system"
	"github.com/tensortap/tensortap/sql"
)

func explainParameters() []parameter {
	defaults := system.DefaultExplainRequest()
	return append(append(runsParameters(), judgingParameters()...),
		parameter{Parameter: sql.Parameter{Name: "op", Type: "String", Required: true, Doc: "Name of an op, path of a module, or part of one."}},
		parameter{Parameter: sql.Parameter{Name: "rank", Type: "Int64", Default: "-1", Doc: "Rank of the problem; -1 for the first at which the op differs."}},
		parameter{Parameter: sql.Parameter{Name: "step", Type: "Int64", Default: "-1", Doc: "Step of the problem; -1 for the first at which the op differs."}},
		parameter{Parameter: sql.Parameter{Name: "before", Type: "UInt64", Default: strconv.Itoa(defaults.Before), Doc: "Number of ops before it to show, 1,000 at most."}},
	)
}

// mostBefore bounds how many ops before one are shown.
const mostBefore = 1000

// explain answers what `tensortap explain` does of stored runs.
func (a *API) explain(ctx context.Context, client *system.Client, w http.ResponseWriter, r *http.Request) error {
	values, err := readQuery(r, explainParameters())
	if err != nil {
		return err
	}
	request, err := explainRequest(values)
	if err != nil {
		return err
	}
	on := resting{runs: request.Compare.Sides(), judged: true}
	begun, err := a.begin(ctx, client, w, r, on)
	if begun.known || err != nil {
		return err
	}
	if err := checkSides(ctx, client, &request.Compare); err != nil {
		return err
	}
	explanation, err := a.opened.explain(ctx, client, request, begun.rests)
	if unnamed := (*explain.NameError)(nil); errors.As(err, &unnamed) {
		return &problemError{Status: http.StatusNotFound, Sentence: err.Error(), Parameter: "op"}
	}
	if err != nil {
		return err
	}
	tellGaps(w, append(begun.gaps, explanation.Warnings...))
	describe(w, report.JSON)
	return report.WriteObject(w, explanation.Object())
}

func explainRequest(values given) (request system.ExplainRequest, err error) {
	request = system.DefaultExplainRequest()
	if request.Compare, err = values.judging(); err != nil {
		return request, err
	}
	request.Compare.Problem, request.Compare.Benches, request.Name = values["problem"][0], values["bench"], values["op"][0]
	for name, texts := range values {
		switch name {
		case "rank":
			request.Compare.Rank, err = strconv.ParseInt(texts[0], 10, 64)
		case "step":
			request.Step, err = strconv.ParseInt(texts[0], 10, 64)
		case "before":
			request.Before, err = strconv.Atoi(texts[0])
		}
		if err != nil || request.Before > mostBefore {
			return request, wrong(name, "parameter %s is %s: want a whole number, of ops before at most %d", name, shortened(texts[0]), mostBefore)
		}
	}
	return request, asWrong("", request.Validate())
}
