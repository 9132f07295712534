package alerts

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/tensortap/tensortap/consumers/alerts/receiver"
	"github.com/tensortap/tensortap/schemas"
)

// condition is a row of a rule's answer: what should be firing.
type condition struct {
	fingerprint      uint64
	rule, run        string
	severity         string
	labels           map[string]string
	summary, command string
	wait             time.Duration // it has to hold for so long
	behind           time.Duration // how far what the rule asks is behind: that time does not count
}

// answers are what all rules answered at one look.
type answers struct {
	conditions []condition
	failed     map[question]bool // nothing is known of these
	deleted    map[string]bool   // runs: nothing of them fires any more
	knownUpTo  time.Time         // the tables knew all that came before
	missed     bool              // a rule that tells of what was over since the last look gave no answer
}

// question is a rule, and the run that it is asked about; none where it is asked about all.
type question struct{ rule, run string }

// runs are those that conditions are about.
func (a *answers) runs() []string {
	var runs []string
	for i := range a.conditions {
		runs = append(runs, a.conditions[i].run)
	}
	return runs
}

// drop has nothing fire of runs that are deleted: what is left of them in the tables is half of the truth.
func (a *answers) drop(deleted map[string]bool) {
	a.deleted = deleted
	a.conditions = slices.DeleteFunc(a.conditions, func(c condition) bool { return deleted[c.run] })
}

// unknown says whether the rule of an alert gave no answer.
func (a *answers) unknown(row *schemas.AlertRow) bool {
	return a.failed[question{row.Rule, row.RunName}] || a.failed[question{rule: row.Rule}]
}

// book knows each alert by its latest stored change. It decides which changes are next, and does nothing.
type book struct {
	keep   time.Duration
	alerts map[uint64]*tracked
}

type tracked struct {
	last    schemas.AlertRow // Ordinal 0 before the first
	came    []time.Time      // when it fired, or its condition came back before it was resolved, within the last dampedFor
	since   time.Time        // when the condition was first seen; zero while it does not hold
	known   time.Time        // up to when all was known then
	without time.Time        // when it was first not seen of an alert that fires; zero while it holds
}

// dampedFor is how long it counts that an alert came; it is also the longest that one stays.
const dampedFor = time.Hour

// mostComings of an alert are enough to make it stay for as long as any does.
const mostComings = 20

// newBook begins with the changes that are stored, in any order.
func newBook(keep time.Duration, rows []schemas.AlertRow) *book {
	b := &book{keep: keep, alerts: map[uint64]*tracked{}}
	for i := range rows {
		b.apply(&rows[i])
	}
	return b
}

func (b *book) of(fingerprint uint64) *tracked {
	t := b.alerts[fingerprint]
	if t == nil {
		t = &tracked{}
		b.alerts[fingerprint] = t
	}
	return t
}

// apply takes a change that is stored.
func (b *book) apply(row *schemas.AlertRow) {
	t := b.of(row.Fingerprint)
	if row.State == receiver.Firing {
		t.came = append(t.came, time.Unix(0, row.ChangedTimeNs))
	}
	if row.Ordinal > t.last.Ordinal {
		t.last = *row
		t.without = time.Time{}
	}
}

func (t *tracked) firing() bool { return t.last.State == receiver.Firing }

// step is what changes by these answers, in a fixed order.
func (b *book) step(now time.Time, a answers) []schemas.AlertRow {
	var changes []schemas.AlertRow
	holds := make(map[uint64]bool, len(a.conditions))
	for i := range a.conditions {
		c := &a.conditions[i]
		holds[c.fingerprint] = true
		if row, fires := b.held(now, c); fires {
			changes = append(changes, row)
		}
	}
	for _, fingerprint := range slices.Sorted(maps.Keys(b.alerts)) {
		t := b.alerts[fingerprint]
		over := a.deleted[t.last.RunName]
		if holds[fingerprint] || !over && a.unknown(&t.last) {
			continue
		}
		stays := b.damped(now, t)
		if over { // it cannot come back
			stays = 0
		}
		if row, resolved := b.gone(now, t, stays); resolved {
			changes = append(changes, row)
		}
	}
	slices.SortFunc(changes, func(x, y schemas.AlertRow) int { return cmp.Compare(x.Fingerprint, y.Fingerprint) })
	return changes
}

// held says whether an alert fires whose condition holds.
func (b *book) held(now time.Time, c *condition) (row schemas.AlertRow, fires bool) {
	t := b.of(c.fingerprint)
	if !t.without.IsZero() && len(t.came) < mostComings {
		t.came = append(t.came, now)
	}
	t.without = time.Time{}
	known := now.Add(-c.behind)
	if t.since.IsZero() {
		t.since, t.known = now, known
	}
	if t.firing() || known.Sub(t.known) < c.wait {
		return row, false
	}
	return schemas.AlertRow{
		Fingerprint: c.fingerprint, Ordinal: t.last.Ordinal + 1, State: receiver.Firing, ChangedTimeNs: now.UnixNano(), SinceTimeNs: t.since.UnixNano(),
		Rule: c.rule, Severity: c.severity, RunName: c.run, Labels: c.labels, Summary: c.summary, Command: c.command,
	}, true
}

// gone says whether an alert is resolved whose condition holds no more, and that stays for a while.
func (b *book) gone(now time.Time, t *tracked, stays time.Duration) (row schemas.AlertRow, resolved bool) {
	t.since = time.Time{}
	if !t.firing() {
		return row, false
	}
	if t.without.IsZero() {
		t.without = now
	}
	if now.Sub(t.without) < stays {
		return row, false
	}
	row = t.last
	row.Ordinal, row.State, row.ChangedTimeNs = row.Ordinal+1, receiver.Resolved, now.UnixNano()
	return row, true
}

// damped is how long the condition has to be gone: twice as long for each time that it came back within the last hour, so
// that a rule that goes to and fro tells of it a few times and then stays.
func (b *book) damped(now time.Time, t *tracked) time.Duration {
	t.came = slices.DeleteFunc(t.came, func(at time.Time) bool { return now.Sub(at) > dampedFor })
	keep := b.keep
	for range len(t.came) - 1 {
		if keep = 2 * keep; keep >= dampedFor {
			return dampedFor
		}
	}
	return keep
}

// forget drops alerts that were resolved before a time.
func (b *book) forget(before time.Time) {
	maps.DeleteFunc(b.alerts, func(_ uint64, t *tracked) bool {
		return t.since.IsZero() && !t.firing() && t.last.ChangedTimeNs < before.UnixNano()
	})
}

// runs are those that alerts which fire are about.
func (b *book) runs() []string {
	var runs []string
	for _, t := range b.alerts {
		if t.firing() {
			runs = append(runs, t.last.RunName)
		}
	}
	return runs
}

// latest are the stored changes that receivers have to know, in a fixed order.
func (b *book) latest() []schemas.AlertRow {
	var rows []schemas.AlertRow
	for _, fingerprint := range slices.Sorted(maps.Keys(b.alerts)) {
		if t := b.alerts[fingerprint]; t.last.Ordinal > 0 {
			rows = append(rows, t.last)
		}
	}
	return rows
}
