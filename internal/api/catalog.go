package api

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/tensortap/tensortap/schemas"
	"github.com/tensortap/tensortap/sql"
)

// listed is a report as the list of reports has it.
type listed struct {
	Name       string            `json:"name"`
	Title      string            `json:"title"`
	Grain      string            `json:"grain"`      // what a row is
	EmptyWhen  string            `json:"empty_when"` // what no rows mean
	Judged     bool              `json:"judged"`     // the runs are judged first
	Path       string            `json:"path"`
	Formats    []string          `json:"formats"`
	Shown      []string          `json:"shown"` // columns that a person needs; all where empty
	Parameters []listedParameter `json:"parameters"`
	Columns    []listedColumn    `json:"columns"`
}

type listedParameter struct {
	Name     string   `json:"name"`
	Type     string   `json:"type"`
	Required bool     `json:"required"`
	Default  string   `json:"default"`
	Many     bool     `json:"many"` // it may be given several times
	Values   []string `json:"values,omitempty"`
	Doc      string   `json:"doc"`
}

// listedColumn is a column; its doc is that of the event's column of that name, empty where there is none.
type listedColumn struct {
	Name string `json:"name"`
	Unit string `json:"unit"`
	Doc  string `json:"doc"`
}

func (*API) listReports(w http.ResponseWriter, r *http.Request) error {
	if _, err := readQuery(r, nil); err != nil {
		return err
	}
	reports, err := sql.Reports()
	if err != nil {
		return err
	}
	all := make([]listed, len(reports))
	for i := range reports {
		all[i] = listedReport(reports[i])
	}
	return writeJSON(w, map[string]any{"reports": all})
}

func listedReport(r sql.Report) listed {
	return listed{
		Name: r.Name, Title: sentence(r.Question), Grain: r.Grain, EmptyWhen: r.EmptyWhen, Judged: r.Judged(), Path: root + "/reports/" + r.Name,
		Formats: formatParameter().Values, Shown: append([]string{}, r.Shown...), Parameters: listedParameters(reportParameters(r)), Columns: listedColumns(r),
	}
}

func listedParameters(known []parameter) []listedParameter {
	all := make([]listedParameter, len(known))
	for i := range known {
		p := &known[i]
		all[i] = listedParameter{Name: p.Name, Type: p.Type, Required: p.Required, Default: p.Default, Many: p.Many, Values: p.Values, Doc: p.Doc}
	}
	return all
}

func listedColumns(r sql.Report) []listedColumn {
	all := []listedColumn{}
	for _, name := range r.Columns() {
		all = append(all, listedColumn{Name: name, Unit: unitOf(name), Doc: columnDoc(r, name)})
	}
	return all
}

// unitOf is the unit that a name ends with.
func unitOf(name string) string {
	for _, unit := range []string{"count", "bytes", "ns", "ms", "seconds", "ratio"} {
		if strings.HasSuffix(name, "_"+unit) {
			return unit
		}
	}
	return ""
}

// columnDoc says what the column of that name of the events means that a report reads, else that of others where all of
// them say the same.
func columnDoc(r sql.Report, name string) string {
	var docs []string
	for _, table := range schemas.Tables() {
		at := slices.IndexFunc(table.Columns, func(c schemas.Column) bool { return c.Name == name })
		if at < 0 {
			continue
		}
		if slices.Contains(r.Reads, "tap_store."+table.Kind()) {
			return table.Columns[at].Doc
		}
		docs = append(docs, table.Columns[at].Doc)
	}
	if docs = slices.Compact(docs); len(docs) == 1 {
		return docs[0]
	}
	return ""
}

// writeJSON writes an answer that is in memory.
func writeJSON(w http.ResponseWriter, answer any) error {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	return json.NewEncoder(w).Encode(answer)
}
