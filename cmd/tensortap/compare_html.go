package main

import (
	"bytes"
	"context"
	"time"

	"github.com/tensortap/tensortap/analysis/report"
	"github.com/tensortap/tensortap/analysis/share"
	"github.com/tensortap/tensortap/internal/system"
	"github.com/tensortap/tensortap/web"
)

// htmlFile is the value of --output for one file that a browser opens.
const htmlFile = "html"

// compareAsFile writes that file to standard output, once all of it is known.
func (a *app) compareAsFile(ctx context.Context, request system.CompareRequest) error {
	page, err := web.Shared()
	if err != nil {
		return err
	}
	if err := request.Validate(); err != nil {
		return err
	}
	if err := request.CheckFolders(); err != nil {
		return err
	}
	style := report.Style{Format: report.JSON, Program: a.program()}
	file := share.File{Page: page, Version: version, Made: time.Now()}
	var written bytes.Buffer
	var comparison report.Comparison
	if request.FoldersOnly() {
		comparison, err = system.ShareFolders(ctx, request, style, file, &written)
	} else {
		err = a.inRunning(ctx, whyRunning(request), func(ctx context.Context, client *system.Client) (err error) {
			comparison, err = client.Share(ctx, request, style, file, &written)
			return err
		})
	}
	if err != nil {
		return err
	}
	a.warn(comparison.Warnings, comparison.WarningCount)
	if _, err := a.stdout.Write(written.Bytes()); err != nil {
		return unlessClosed(err)
	}
	return judged(comparison.Verdict)
}
