package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/tensortap/tensortap/analysis/compare"
	"github.com/tensortap/tensortap/analysis/report"
	"github.com/tensortap/tensortap/internal/system"
	"github.com/tensortap/tensortap/sql"
)

const (
	byFlag   = "by"
	byTensor = "tensor"
	byToken  = "token"
)

// tokenReport is the report that compare --by token reads its verdict off.
const tokenReport = "tokens"

// onlyTokens refuses flags that have no meaning for tokens.
func onlyTokens(f *pflag.FlagSet) (err error) {
	together := []string{byFlag, "calibrate", "tolerance", "output", "data", "nats", "clickhouse", "engine", "verbose"}
	f.Visit(func(given *pflag.Flag) {
		if !slices.Contains(together, given.Name) {
			err = fmt.Errorf("--%s does not go with --%s %s", given.Name, byFlag, byToken)
		}
	})
	return err
}

// compareTokens compares two stored runs token by token.
func (a *app) compareTokens(cmd *cobra.Command, c *comparing, runs []string) error {
	parameters, err := c.tokenParameters(cmd.Flags(), runs)
	if err != nil {
		return err
	}
	format, err := report.ParseFormat(c.output)
	if err != nil {
		return err
	}
	asked, err := sql.ReportByName(tokenReport)
	if err != nil {
		return err
	}
	style := report.Style{Format: format, Color: a.colored(a.stdout)}
	if format == report.Text {
		style.Columns = asked.Shown
	}
	compared := report.Tokens{Problem: runs[0], Bench: runs[1], Asked: parameters["tolerance"], Calibrate: parameters["calibrate"]}
	if err := a.ask(cmd.Context(), func(ctx context.Context, client *system.Client) error {
		return a.tellTokens(ctx, client, system.ReportRequest{Report: asked, Given: parameters}, &compared, style)
	}); err != nil {
		return err
	}
	return judged(compared.Verdict())
}

// tokenParameters are those of the report.
func (c *comparing) tokenParameters(f *pflag.FlagSet, runs []string) (map[string]string, error) {
	if err := onlyTokens(f); err != nil {
		return nil, err
	}
	if len(runs) != 2 {
		return nil, fmt.Errorf("--%s %s compares a problem with one bench, %d runs are given", byFlag, byToken, len(runs))
	}
	if slices.ContainsFunc(runs, system.IsFolder) {
		return nil, fmt.Errorf("--%s %s compares stored runs, and %q has a folder: publish it, or record runs with --level tokens", byFlag, byToken, runs)
	}
	if err := compare.CheckCalibration(c.request.Calibrate, runs[0], runs[1:], false); err != nil {
		return nil, err
	}
	parameters := map[string]string{"problem": runs[0], "bench": runs[1], "calibrate": c.request.Calibrate}
	if given := c.words.tolerance; given != "" {
		number, err := strconv.ParseFloat(given, 64)
		if err != nil || number < 0 || (system.Tolerance{Number: number}).Validate() != nil {
			return nil, fmt.Errorf("--tolerance %s: with --%s %s it is a number from 0 on", given, byFlag, byToken)
		}
		parameters["tolerance"] = given
	}
	return parameters, nil
}

// tellTokens writes the answer: rows where the output is a table, else the verdict too.
func (a *app) tellTokens(ctx context.Context, client *system.Client, r system.ReportRequest, compared *report.Tokens, style report.Style) error {
	ready, err := client.PrepareReport(ctx, r)
	a.tellGaps(ready.Gaps)
	if err != nil {
		return err
	}
	compared.Gaps = ready.Gaps
	places, err := client.Hold(ctx, ready.Query, ready.Parameters)
	if err != nil {
		return err
	}
	if compared.Places, err = places.Table(); err != nil {
		return err
	}
	switch {
	case r.Given["calibrate"] != "" && compared.Places.Sum("calibrated_count") == 0:
		return fmt.Errorf("calibrate with %s: none of its tokens has prompt, sample, position and place of one of bench %s", r.Given["calibrate"], compared.Bench)
	case style.Format == report.Text:
		return unlessClosed(compared.Write(a.stdout, style))
	case style.Format == report.JSON:
		return unlessClosed(report.WriteObject(a.stdout, compared.Object()))
	}
	return unlessClosed(places.Write(a.stdout, style))
}
