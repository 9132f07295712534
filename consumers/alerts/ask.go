package alerts

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/zeebo/xxh3"

	"github.com/tensortap/tensortap/analysis/report"
	"github.com/tensortap/tensortap/consumers/alerts/receiver"
	"github.com/tensortap/tensortap/schemas"
	"github.com/tensortap/tensortap/sql"
)

// Limits of one look.
const (
	mostRows  = 1000 // of one rule's answer: what is beyond them is not followed, which the log says
	mostRuns  = 100  // that are asked about one by one, those that go on first
	mostText  = 1000 // characters of a sentence or command
	separator = "\x1f"
)

// Source is what a role asks.
type Source struct {
	// Rows are those of a query's answer, by column, as text that loses nothing; at most so many.
	Rows func(ctx context.Context, query string, parameters map[string]string, most int) ([]map[string]string, error)
	// Current are the names of the runs that go on or ended a short time ago, the former first. The tables know all up to a time;
	// a run that ended a short time before that may go on.
	Current func(ctx context.Context, known time.Time) ([]string, error)
	// Measured is what no table knows.
	Measured func(ctx context.Context) (Measured, error)
	// Deleted says whether it was decided that a run goes.
	Deleted func(ctx context.Context, run string) (bool, error)
}

// deleted are those of the runs that go.
func (s *Source) deleted(ctx context.Context, runs []string) (map[string]bool, error) {
	known := map[string]bool{"": false} // what is about no run stays
	for _, run := range runs {
		if _, asked := known[run]; asked {
			continue
		}
		var err error
		if known[run], err = s.Deleted(ctx, run); err != nil {
			return nil, err
		}
	}
	return known, nil
}

// Measured is what no table knows: how far stores are behind the stream, and the room that is left.
type Measured struct {
	Behind    time.Duration // how far the tables are: of what happened since they know nothing
	Consumers []Waiting
	Disks     []Room
}

// Waiting is what a store has yet to store.
type Waiting struct {
	Name     string
	Messages uint64
	Behind   time.Duration // since the oldest of them was published
}

// Room is what is free of something that fills up.
type Room struct {
	Name             string
	FreeBytes, Bytes uint64
}

// asking asks all rules once.
type asking struct {
	source  Source
	current []string
	common  map[string]string // parameters that all rules may take
	behind  time.Duration     // how far the tables are
	found   answers
	told    func(message string, about question, err error)

	answered map[question]bool
}

// parameters are what rules are given that know all up to a time, and did so up to another at the last look; the zero time where
// there was none.
func (m *Measured) parameters(known, looked time.Time, current []string) map[string]string {
	consumers, disks := make([]string, len(m.Consumers)), make([]string, len(m.Disks))
	for i, c := range m.Consumers {
		consumers[i] = fmt.Sprintf("(%s,%d,%s)", literal(c.Name), c.Messages, strconv.FormatFloat(c.Behind.Seconds(), 'f', 3, 64))
	}
	for i, d := range m.Disks {
		disks[i] = fmt.Sprintf("(%s,%d,%d)", literal(d.Name), d.FreeBytes, d.Bytes)
	}
	names := make([]string, len(current))
	for i, name := range current {
		names[i] = literal(name)
	}
	values := map[string]string{
		"consumers": list(consumers), "disks": list(disks), "current": list(names), "now_ns": strconv.FormatInt(known.UnixNano(), 10),
	}
	if !looked.IsZero() {
		values[sinceLook] = strconv.FormatInt(looked.UnixNano(), 10)
	}
	return values
}

// sinceLook is the parameter of rules that tell of what was over since the last look, too.
const sinceLook = "looked_ns"

// literal is a text within a list that is a parameter. The driver escapes backslashes.
func literal(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }

func list(items []string) string { return "[" + strings.Join(items, ",") + "]" }

func (a *asking) all(ctx context.Context, cfg *Config) answers {
	a.found.failed, a.answered = map[question]bool{}, map[question]bool{}
	for i := range cfg.Rules {
		rule := &cfg.Rules[i]
		if !rule.Takes("run") {
			a.one(ctx, cfg, rule, question{rule: rule.Title()})
			continue
		}
		for _, run := range a.current {
			a.one(ctx, cfg, rule, question{rule.Title(), run})
		}
	}
	return a.found
}

func (a *asking) one(ctx context.Context, cfg *Config, rule *Rule, q question) {
	rows, err := a.source.Rows(ctx, rule.Query, a.parameters(rule, q.run), mostRows+1)
	if err != nil {
		a.found.failed[q] = true
		a.found.missed = a.found.missed || rule.Takes(sinceLook)
		a.told("alert rule gave no answer, try again", q, err)
		return
	}
	a.answered[q] = true
	if len(rows) > mostRows {
		a.told("alert rule has more rows than are followed", question{q.rule + " (rows)", q.run}, fmt.Errorf("more than %d", mostRows))
		rows = rows[:mostRows]
	}
	seen := map[uint64]bool{}
	for _, row := range rows {
		c := conditionOf(cfg, rule, row)
		if !rule.measured() {
			c.behind = a.behind
		}
		if !seen[c.fingerprint] {
			seen[c.fingerprint] = true
			a.found.conditions = append(a.found.conditions, c)
		}
	}
}

func (a *asking) parameters(rule *Rule, run string) map[string]string {
	values := map[string]string{}
	for _, p := range rule.Object.Parameters {
		values[p.Name] = p.Default
		if value, known := a.common[p.Name]; known {
			values[p.Name] = value
		}
		if value, configured := rule.Parameters[p.Name]; configured {
			values[p.Name] = value
		}
	}
	if rule.Takes("run") {
		values["run"] = run
	}
	return values
}

// conditionOf is the alert of a row.
func conditionOf(cfg *Config, rule *Rule, row map[string]string) condition {
	c := condition{
		fingerprint: fingerprint(rule, row), rule: rule.Title(), run: row["run"], severity: rule.Severity, wait: rule.For,
		labels: map[string]string{},
	}
	maps.Copy(c.labels, cfg.Labels)
	maps.Copy(c.labels, rule.Extra)
	for _, column := range rule.Labels {
		c.labels[column] = row[column]
	}
	c.summary = cut(sql.Fill(rule.Says, func(column string) string { return report.Printable(row[column]) }))
	c.command = cut(sql.Fill(rule.Look, func(column string) string { return report.Argument(row[column]) }))
	return c
}

// fingerprint is of what the query says alone, so that a change of the configuration makes no alert another.
func fingerprint(rule *Rule, row map[string]string) uint64 {
	words := []string{rule.Title()}
	for _, column := range slices.Sorted(slices.Values(rule.Labels)) {
		words = append(words, column, row[column])
	}
	return xxh3.HashString(strings.Join(words, separator))
}

func cut(text string) string {
	if runes := []rune(text); len(runes) > mostText {
		return string(runes[:mostText]) + "…"
	}
	return text
}

// message is the change as an event, under the same id whoever publishes it.
func message(row *schemas.AlertRow) (schemas.Message, error) {
	builder := schemas.NewBuilder[schemas.AlertRow]()
	builder.Append(row)
	return builder.Message(schemas.Identity{RunID: schemas.RunID(row.RunName), Rank: schemas.NoRank, Epoch: row.Fingerprint, Batch: row.Ordinal - 1})
}

// alertOf is the change as receivers are told of it.
func alertOf(row *schemas.AlertRow, fired time.Time) receiver.Alert {
	a := receiver.Alert{
		Fingerprint: schemas.FormatID(row.Fingerprint), Change: row.Ordinal, State: row.State, Rule: row.Rule, Severity: row.Severity,
		Labels: row.Labels, Summary: row.Summary, Command: row.Command, Fired: fired,
	}
	if row.State == receiver.Resolved {
		a.Resolved = time.Unix(0, row.ChangedTimeNs).UTC()
	}
	return a
}

// Example is an alert as the rule would tell of it, with the values of its example.
func (c *Config) Example(rule *Rule, now time.Time) receiver.Alert {
	made := conditionOf(c, rule, rule.Example)
	return firing(&made, now)
}

// groupOf are the labels that alerts have in common that are sent together.
func groupOf(rule *Rule, labels map[string]string) map[string]string {
	group := make(map[string]string, len(rule.GroupBy))
	for _, column := range rule.GroupBy {
		group[column] = labels[column]
	}
	return group
}

// Now are the alerts that a rule's answer would have firing now.
func Now(ctx context.Context, source Source, cfg *Config, rule *Rule, now time.Time) ([]receiver.Alert, error) {
	measured, err := source.Measured(ctx)
	if err != nil {
		return nil, err
	}
	known := now.Add(-measured.Behind)
	current, err := source.Current(ctx, known)
	if err != nil {
		return nil, err
	}
	only := *cfg
	only.Rules = []Rule{*rule}
	var failed error
	a := asking{source: source, current: current, common: measured.parameters(known, time.Time{}, current), told: func(message string, about question, err error) {
		failed = errors.Join(failed, fmt.Errorf("%s: rule %s, run %q: %w", message, about.rule, about.run, err))
	}}
	found := a.all(ctx, &only)
	deleted, err := source.deleted(ctx, found.runs())
	if err != nil {
		return nil, err
	}
	found.drop(deleted)
	alerts := make([]receiver.Alert, len(found.conditions))
	for i := range found.conditions {
		alerts[i] = firing(&found.conditions[i], now)
	}
	return alerts, failed
}

// firing is the alert of a condition that nobody was told of before.
func firing(c *condition, now time.Time) receiver.Alert {
	first := *c
	first.wait = 0
	row, _ := newBook(0, nil).held(now, &first)
	return alertOf(&row, now.UTC())
}

// Notifications are what a receiver is told of alerts of one rule that fire at the same time.
func (t *Target) Notifications(rule *Rule, alerts []receiver.Alert) []receiver.Notification {
	var all []receiver.Notification
	for i := range alerts {
		group := groupOf(rule, alerts[i].Labels)
		place := slices.IndexFunc(all, func(n receiver.Notification) bool { return maps.Equal(n.Group, group) })
		if place < 0 {
			place = len(all)
			all = append(all, receiver.Notification{Receiver: t.Name, Rule: rule.Title(), Severity: rule.Severity, Group: group})
		}
		all[place].Alerts = append(all[place].Alerts, alerts[i])
	}
	return all
}
