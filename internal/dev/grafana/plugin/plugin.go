// Package plugin makes of a panel's query what Grafana and its ClickHouse data source make of it before the database gets
// it, so that tests can ask the same without Grafana. It follows grafana-clickhouse-datasource 4.20. It knows what our
// dashboards may use, and refuses the rest by name.
package plugin

import (
	"fmt"
	"time"
)

// QueryTimeout is the data source's. Its driver lets the database take five seconds more, and the user reader has a minute at most.
const QueryTimeout = 50 * time.Second

// Request is what surrounds a query: the time that is shown, and the choices at the head of the dashboard.
type Request struct {
	From, To  time.Time
	Interval  time.Duration // between two points
	Variables map[string][]string
	Filters   []Filter
}

// Filter is an ad-hoc filter that a viewer added.
type Filter struct {
	Key, Operator, Value string
}

// All is the value of a variable of which all values are chosen.
const All = "$__all"

// Query is the text that the database gets for a panel or variable.
func (r Request) Query(rawSQL string) (string, error) {
	text, err := r.conditions(rawSQL)
	if err != nil {
		return "", err
	}
	if text, err = r.substitute(text); err != nil {
		return "", err
	}
	if text, err = r.filter(text); err != nil {
		return "", err
	}
	return r.AlertQuery(text)
}

// AlertQuery is the text that the database gets for an alert rule, which knows neither variables nor filters.
func (r Request) AlertQuery(rawSQL string) (string, error) {
	text, err := r.macros(withoutComments(rawSQL))
	if err != nil {
		return "", fmt.Errorf("expand the macros of %q: %w", rawSQL, err)
	}
	return text, nil
}
