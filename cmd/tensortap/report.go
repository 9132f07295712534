package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/tensortap/tensortap/analysis/report"
	"github.com/tensortap/tensortap/internal/steps"
	"github.com/tensortap/tensortap/internal/system"
	"github.com/tensortap/tensortap/sql"
)

func newReport(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "report",
		Short: "Answer one question about stored runs",
		Long:  "Answer one question about stored runs. Each report is one file of SQL; its parameters are flags here.",
		Example: `  tensortap report divergence --problem bad --bench good
  tensortap report overflow --run bad --output json
  tensortap report completeness --run bad`,
	}
	choice(cmd, "report")
	reports, err := sql.Reports()
	if err != nil {
		cmd.RunE = func(*cobra.Command, []string) error { return err }
		return cmd
	}
	cmd.AddCommand(newPairing(a), newMsprobe(a), newOpMsprobe(a))
	for _, r := range reports {
		cmd.AddCommand(newOneReport(a, r))
	}
	return cmd
}

// newOneReport makes a command of a report: its question is the help, its parameters are the flags.
func newOneReport(a *app, r sql.Report) *cobra.Command {
	view := looks{shown: r.Shown}
	var wanted steps.Set
	var judged judgedWords
	ranged := takesSteps(r)
	values := make(map[string]*pflag.Flag, len(r.Parameters))
	cmd := &cobra.Command{
		Use:     strings.ReplaceAll(r.Name, "_", "-"),
		Aliases: aliases(r),
		Short:   sentence(r.Question),
		Long:    fmt.Sprintf("%s\n\nGives %s.\nEmpty when %s.", sentence(r.Question), r.Grain, r.EmptyWhen),
		Example: example(r),
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			parameters := map[string]string{}
			for name, value := range values {
				if value.Changed || name == "limit" {
					parameters[name] = value.Value.String()
				}
			}
			if ranged {
				if err := system.CheckRange(wanted); err != nil {
					return err
				}
				maps.Copy(parameters, stepParameters(wanted))
			}
			style, err := view.style()
			if err != nil {
				return err
			}
			style.Empty = r.EmptyWhen
			if limit := parameters["limit"]; limit != "" {
				if style.Limit, err = strconv.ParseUint(limit, 10, 64); err != nil {
					return fmt.Errorf("--limit: %w", err)
				}
				parameters["limit"] = limitParameter(style)
			}
			return a.report(cmd, &judged, r, parameters, style)
		},
	}
	for _, p := range r.Parameters {
		if system.KnownHere(p.Name) || ranged && (p.Name == firstStep || p.Name == lastStep) {
			continue
		}
		if p.Name == "limit" {
			p.Doc = strings.TrimSuffix(p.Doc, ".") + "; 0 for all."
		}
		values[p.Name] = parameterFlag(cmd.Flags(), p)
		if slices.Contains(system.RunParameters(), p.Name) {
			a.completeRunFlags(cmd, p.Name)
		}
		if p.Required {
			_ = cmd.MarkFlagRequired(strings.ReplaceAll(p.Name, "_", "-"))
		}
	}
	if ranged {
		addSteps(cmd.Flags(), &wanted, "")
	}
	if r.Judged() {
		judged.flags(cmd)
		a.completeRunFlags(cmd, "benches")
	}
	view.flags(cmd)
	if values["limit"] == nil {
		view.limitFlag(cmd, 0)
	}
	return cmd
}

// aliases are the report's own name, where the command has another.
func aliases(r sql.Report) []string {
	if strings.Contains(r.Name, "_") {
		return []string{r.Name}
	}
	return nil
}

func addOutput(cmd *cobra.Command, output *string) {
	cmd.Flags().StringVarP(output, "output", "o", string(report.Text), strings.Join(report.Formats(), ", "))
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(report.Formats(), cobra.ShellCompDirectiveNoFileComp))
}

func sentence(text string) string { return strings.ToUpper(text[:1]) + text[1:] }

func example(r sql.Report) string {
	words := []string{"  tensortap report", strings.ReplaceAll(r.Name, "_", "-")}
	for _, p := range r.Parameters {
		switch p.Name {
		case "problem", "run":
			words = append(words, "--"+p.Name, "bad")
		case "bench":
			words = append(words, "--bench", "good")
		case "id":
			words = append(words, "--id", "eca95cf5acbc40809848702fb078449f")
		case "op", "name":
			words = append(words, "--"+p.Name, opOf(r))
		}
	}
	line := strings.Join(words, " ")
	return line + "\n" + line + " --output json"
}

// opOf is an op that the report may find: some know only ops of level aten.
func opOf(r sql.Report) string {
	if r.Name == "shapes" || r.Name == "shape_diff" {
		return "aten.mm.default"
	}
	return "Functional.linear.7.forward"
}

// judgedWords are the flags for the rules of a report.
type judgedWords struct {
	comparisonWords
	benches            []string
	mapping, calibrate string
}

func (w *judgedWords) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	w.judgeFlags(f)
	f.StringSliceVar(&w.benches, "benches", nil, "further bench runs; with three or more in all, their spread is the tolerance")
	addCalibrate(f, &w.calibrate)
	addMap(cmd, &w.mapping)
}

// judging is how runs are judged whose verdicts a report reads.
func (w *judgedWords) judging() (system.CompareRequest, error) {
	request := system.DefaultCompareRequest()
	request.Benches, request.Calibrate = w.benches, w.calibrate
	return request, errors.Join(w.apply(&request), mapped(&request, w.mapping))
}

func (a *app) report(cmd *cobra.Command, words *judgedWords, r sql.Report, given map[string]string, style report.Style) error {
	judging, err := words.judging()
	if err != nil {
		return err
	}
	return a.ask(cmd.Context(), func(ctx context.Context, client *system.Client) error {
		ready, err := client.PrepareReport(ctx, system.ReportRequest{Report: r, Given: given, Judging: judging})
		a.tellGaps(ready.Gaps)
		if err != nil {
			return err
		}
		style.Because = func() (string, error) { return client.WhyEmpty(ctx, r, ready.Parameters) }
		if r.Name == "shape_diff" && style.Format == report.Text {
			return a.shapeDiff(ctx, client, ready.Parameters, style)
		}
		if r.Name == "crash" && style.Format == report.Text && !style.Vertical && !cmd.Flags().Changed("columns") {
			return a.crash(ctx, client, ready.Parameters, style)
		}
		return client.Write(ctx, a.stdout, style, ready.Query, ready.Parameters)
	})
}

// warnIncomplete prints the gaps of the answer first.
func (a *app) warnIncomplete(ctx context.Context, client *system.Client, runs ...string) error {
	gaps, err := client.Gaps(ctx, runs...)
	a.tellGaps(gaps)
	return err
}

func (a *app) tellGaps(gaps []string) {
	for _, gap := range slices.Compact(gaps) {
		fmt.Fprintln(a.stderr, "INCOMPLETE:", gap)
	}
}

// shapeDiff adds a summary for people: a table without rows would leave its basis in doubt.
func (a *app) shapeDiff(ctx context.Context, client *system.Client, parameters map[string]string, style report.Style) error {
	table, err := client.Report(ctx, "shape_diff", parameters)
	if err != nil {
		return err
	}
	if len(table.Rows) > 0 {
		return table.WriteText(a.stdout, style)
	}
	summary, err := client.Report(ctx, "shape_diff_summary", parameters)
	if err == nil {
		_, err = fmt.Fprintln(a.stdout, report.SameShapes(parameters["problem"], parameters["bench"], summary))
	}
	return err
}

// crash writes a page for people: one row would not fit a line.
func (a *app) crash(ctx context.Context, client *system.Client, parameters map[string]string, style report.Style) error {
	table, err := client.Report(ctx, "crash", parameters)
	if err != nil {
		return err
	}
	style.Program = a.program()
	said := report.Crash{Run: parameters["run"], Ranks: table}
	return said.Write(a.stdout, style)
}
