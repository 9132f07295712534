// Package sql holds the tables, views and reports as files, and knows what a
// report asks, needs and answers from the comment at its head.
//
// Nothing is generated from Go strings: a file under tables is a migration, one
// under views or reports is a single SELECT. Whoever creates the views wraps
// each as [Object.CreateView] does, in the order of [Views].
package sql

import (
	"embed"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// Files holds tables/NNN_name.sql, views/LN_name.sql and reports/name.sql.
//
//go:embed tables/*.sql views/*.sql reports/*.sql
var Files embed.FS //nolint:gochecknoglobals // embed.FS must be a variable; it cannot be changed

// Layer says what a view may read: tables and lower layers.
type Layer int

// The layers. A report reads any view.
const (
	LayerIdentity Layer = iota // which observations count
	LayerClean                 // de-duplicated, named, typed
	LayerPaired                // problem beside bench
	LayerFindings              // what follows from it
	LayerReport                // one question, answered for people
)

// Object is a view or a report: one SELECT and what its head says of it.
type Object struct {
	Name       string // of the view in database tap
	Layer      Layer
	Question   string
	Grain      string
	Reads      []string // tables and views, as database.name
	EmptyWhen  string
	Parameters []Parameter // in the order of the head
	Query      string      // the whole file
}

// Report is an object of the topmost layer.
type Report = Object

// Parameter is one {name:Type} of a query.
type Parameter struct {
	Name     string
	Type     string // of ClickHouse, as String, Float64, Int64
	Default  string // as text; empty unless Optional
	Doc      string
	Optional bool
}

// CreateView is the statement that creates the object as a view in database tap.
func (o Object) CreateView() string {
	return "CREATE OR REPLACE VIEW tap." + o.Name + " AS\n" + o.Query
}

// Views returns every view, each after those that it reads.
func Views() ([]Object, error) { return objects("views") }

// Reports returns every report, by name.
func Reports() ([]Report, error) { return objects("reports") }

// Statements splits a file of tables into statements without their semicolons.
func Statements(text string) []string {
	var statements []string
	for s := range strings.SplitSeq(text, ";\n") {
		if s = strings.TrimSpace(s); s != "" {
			statements = append(statements, s)
		}
	}
	return statements
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
