package api

import (
	"bytes"
	"context"
	"net/http"

	"github.com/tensortap/tensortap/analysis/report"
	"github.com/tensortap/tensortap/analysis/share"
	"github.com/tensortap/tensortap/internal/system"
)

// share answers what `tensortap compare --output html` writes of stored runs.
func (a *API) share(ctx context.Context, client *system.Client, w http.ResponseWriter, r *http.Request) error {
	if a.cfg.Shared == nil {
		return notFound("%s", notBuilt)
	}
	request, told, known, err := a.beginComparison(ctx, client, w, r)
	if known || err != nil {
		return err
	}
	var written bytes.Buffer
	file := share.File{Page: a.cfg.Shared, Version: a.cfg.Version, Made: a.cfg.Now()}
	comparison, err := client.Share(ctx, request, report.Style{Format: report.JSON, Program: a.cfg.Program}, file, &written)
	if err != nil {
		return err
	}
	tellGaps(w, append(told, comparison.Warnings...))
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Disposition", `attachment; filename="comparison.html"`)
	_, err = written.WriteTo(w)
	return err
}
