// Package sql holds the tables, views and reports as files, and knows what a
// report asks, needs and answers from the comment at its head.
//
// Nothing is generated from Go strings: a file under tables is a migration, one
// under views or reports is a single SELECT, to be wrapped in CREATE OR REPLACE
// VIEW in the order of the files.
package sql

import (
	"embed"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"
)

// Files holds tables/NNN_name.sql, views/LN_name.sql, reports/name_report.sql and alerts/name_alert.sql.
//
//go:embed tables/*.sql views/*.sql reports/*.sql alerts/*.sql
var Files embed.FS

// Layer says what a view may read: tables and lower layers.
type Layer int

// The layers. A report reads any view.
const (
	LayerIdentity Layer = iota // which observations count, and which ranks of two runs are partners
	LayerClean                 // de-duplicated, named, typed
	LayerPaired                // problem beside bench
	LayerFindings              // what follows from it
	LayerReport                // one question, answered for people
	LayerAlert                 // what people are told of without asking
)

// Object is a view or a report: one SELECT and what its head says of it.
type Object struct {
	Name       string // of a view its name in database tap, of a report what people call it
	Layer      Layer
	Question   string
	Grain      string
	Reads      []string // tables and views, as database.name
	EmptyWhen  string
	Because    string      // the report that says in its column explanation why this one has no rows; empty for none
	Parameters []Parameter // in the order of the head
	Shown      []string    // of a report's columns, those that a person needs; all where empty
	Query      string      // the whole file
}

// Report is an object of the topmost layer.
type Report = Object

// Judged says whether it reads what came of one comparison of two runs, which has to be judged before.
func (o Object) Judged() bool {
	return o.Layer == LayerReport && slices.Contains(o.Reads, "tap.wanted_comparison") && slices.ContainsFunc(o.Parameters, func(p Parameter) bool { return p.Name == "comparison" })
}

// Parameter is one {name:Type} of a query.
type Parameter struct {
	Name     string
	Type     string // of ClickHouse, as String, Float64, Int64
	Default  string // as text; empty when Required
	Doc      string
	Required bool
}

// reportSuffix tells a report from the view of the same name: tap.runs_report has parameters and an order, tap.runs has
// neither.
const reportSuffix = "_report"

// alertSuffix likewise tells an alert rule.
const alertSuffix = "_alert"

// View is the object's own name in database tap.
func (o Object) View() string {
	switch o.Layer {
	case LayerReport:
		return o.Name + reportSuffix
	case LayerAlert:
		return o.Name + alertSuffix
	case LayerIdentity, LayerClean, LayerPaired, LayerFindings:
	}
	return o.Name
}

// Views returns every view, each after those that it reads. The caller does not change what is in them.
func Views() ([]Object, error) {
	views, err := parsedViews()
	return slices.Clone(views), err
}

// Reports returns every report, by name; likewise.
func Reports() ([]Report, error) {
	reports, err := parsedReports()
	return slices.Clone(reports), err
}

// The files are part of the program: they are read once, since every report asks for them.
//
//nolint:gochecknoglobals // they never change
var (
	parsedViews   = sync.OnceValues(func() ([]Object, error) { return objects("views") })
	parsedReports = sync.OnceValues(func() ([]Report, error) { return objects("reports") })
)

// ReportByName returns one report, or an error that lists those there are.
func ReportByName(name string) (Report, error) {
	reports, err := Reports()
	if err != nil {
		return Report{}, err
	}
	names := make([]string, 0, len(reports))
	for _, r := range reports {
		if r.Name == name {
			return r, nil
		}
		names = append(names, r.Name)
	}
	return Report{}, fmt.Errorf("no report is named %q, there are: %s", name, strings.Join(names, ", "))
}

// objects reads a folder. File names begin with the layer, so their order is the order of creation.
func objects(folder string) ([]Object, error) {
	files, err := fs.Glob(Files, folder+"/*.sql")
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", folder, err)
	}
	slices.Sort(files)
	found := make([]Object, 0, len(files))
	for _, file := range files {
		text, err := Files.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", file, err)
		}
		object, err := parse(path.Base(file), string(text))
		if err != nil {
			return nil, fmt.Errorf("parse %s: %w", file, err)
		}
		found = append(found, object)
	}
	return found, nil
}
