package main

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tensortap/tensortap/analysis/report"
)

// allColumns is the value of --columns for every column of the answer.
const allColumns = "all"

// looks are the flags that say how a table is written.
type looks struct {
	output   string
	columns  []string
	vertical bool
	limit    uint64
	shown    []string // default columns of text; all where empty
}

func (l *looks) flags(cmd *cobra.Command) {
	addOutput(cmd, &l.output)
	f := cmd.Flags()
	usage := "only these columns, in this order"
	if len(l.shown) > 0 {
		usage += ", or " + allColumns + "; text shows " + strings.Join(l.shown, ",") + " if not given"
	}
	f.StringSliceVar(&l.columns, "columns", nil, usage)
	f.BoolVar(&l.vertical, "vertical", false, "text with a line for each value, of all columns")
	_ = cmd.RegisterFlagCompletionFunc("columns", cobra.FixedCompletions(append([]string{allColumns}, l.shown...), cobra.ShellCompDirectiveNoFileComp))
}

// limitFlag adds --limit, with how many rows there are unless it is said otherwise.
func (l *looks) limitFlag(cmd *cobra.Command, rows uint64) {
	cmd.Flags().Uint64Var(&l.limit, "limit", rows, "greatest number of rows; 0 for all")
}

// limitParameter is what a query takes for its own limit, which 0 does not lift.
func limitParameter(style report.Style) string {
	rows := style.Reads()
	if rows == 0 {
		rows = math.MaxInt64
	}
	return strconv.FormatUint(rows, 10)
}

// style is the format of the answer.
func (l *looks) style() (report.Style, error) {
	format, err := report.ParseFormat(l.output)
	style := report.Style{Format: format, Columns: l.columns, Vertical: l.vertical, Limit: l.limit}
	switch {
	case err != nil:
		return style, err
	case l.vertical && format != report.Text:
		return style, errors.New("--vertical is a form of --output text")
	case len(l.columns) > 0 && (format == report.Arrow || format == report.Parquet):
		return style, fmt.Errorf("--output %s has all columns: choose some with another output, or with tensortap query 'SELECT …'", format)
	case len(l.columns) == 1 && l.columns[0] == allColumns:
		style.Columns = nil
	case len(l.columns) == 0 && format == report.Text && !l.vertical:
		style.Columns = l.shown
	}
	return style, nil
}
