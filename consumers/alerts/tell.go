package alerts

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/tensortap/tensortap/consumers/alerts/receiver"
	"github.com/tensortap/tensortap/schemas"
)

// A receiver that cannot be told is tried again after firstPause, twice as long each time, longestPause at most.
const (
	firstPause   = time.Second
	longestPause = time.Minute
)

// sender is what the teller needs of a receiver.
type sender interface {
	Send(ctx context.Context, n receiver.Notification) error
}

// teller tells one receiver what it was not told.
type teller struct {
	Target
	notes     *notes
	rules     map[string]*Rule
	pause     time.Duration
	after     time.Time // it is not tried before
	failed    error     // why it was not told the last time
	refreshed time.Time // when it was last told of all that fires
}

func newTeller(ctx context.Context, bucket jetstream.KeyValue, cfg *Config, target Target, known []schemas.AlertRow) (*teller, error) {
	t := &teller{Target: target, rules: map[string]*Rule{}}
	for i := range cfg.Rules {
		t.rules[cfg.Rules[i].Title()] = &cfg.Rules[i]
	}
	var err error
	t.notes, err = openNotes(ctx, bucket, target.Name, known)
	return t, err
}

// moment is what all receivers are told from at one look.
type moment struct {
	now      time.Time
	rows     []schemas.AlertRow   // of each alert the latest change
	fired    map[uint64]time.Time // when each fired last
	silences []Silence
}

func (m *moment) silent(row *schemas.AlertRow) bool {
	return slices.ContainsFunc(m.silences, func(s Silence) bool { return s.Covers(row, m.now) })
}

// tell sends what is due. Its error is of the receiver, and of the notes where lost is set: then another role is at work.
func (t *teller) tell(ctx context.Context, m *moment) (err, lost error) {
	if m.now.Before(t.after) {
		return t.failed, nil
	}
	send, skip := t.due(m)
	if len(skip) > 0 {
		if lost := t.notes.add(ctx, skip); lost != nil {
			return nil, lost
		}
	}
	for _, rows := range t.grouped(send) {
		if err := t.send(ctx, m, rows); err != nil {
			return err, nil
		}
		if lost := t.notes.add(ctx, rows); lost != nil {
			return nil, lost
		}
	}
	return t.refresh(ctx, m), nil
}

// due are the changes that the receiver was not told, and those of them that nobody has to tell it: resolved in silence.
func (t *teller) due(m *moment) (send, skip []*schemas.AlertRow) {
	for i := range m.rows {
		row := &m.rows[i]
		switch silent := m.silent(row); {
		case !t.Tells(row.Rule) || t.notes.has(row):
		case silent && row.State == receiver.Resolved:
			skip = append(skip, row)
		case !silent:
			send = append(send, row)
		}
	}
	return send, skip
}

// grouped has the changes together that are sent together, in the order of the first of each.
func (t *teller) grouped(rows []*schemas.AlertRow) [][]*schemas.AlertRow {
	var groups [][]*schemas.AlertRow
	places := map[string]int{}
	for _, row := range rows {
		key := t.groupKey(row)
		place, known := places[key]
		if !known {
			place = len(groups)
			places[key], groups = place, append(groups, nil)
		}
		groups[place] = append(groups[place], row)
	}
	return groups
}

func (t *teller) groupKey(row *schemas.AlertRow) string {
	words := []string{row.Rule, row.Severity}
	if rule := t.rules[row.Rule]; rule != nil {
		for _, column := range rule.GroupBy {
			words = append(words, row.Labels[column])
		}
	}
	return strings.Join(words, separator)
}

func (t *teller) send(ctx context.Context, m *moment, rows []*schemas.AlertRow) error {
	n := receiver.Notification{Receiver: t.Name, Rule: rows[0].Rule, Severity: rows[0].Severity}
	if rule := t.rules[n.Rule]; rule != nil {
		n.Group = groupOf(rule, rows[0].Labels)
	}
	for _, row := range rows {
		n.Alerts = append(n.Alerts, alertOf(row, m.fired[row.Fingerprint]))
	}
	if t.failed = t.Send(ctx, n); t.failed != nil {
		t.pause = min(max(firstPause, 2*t.pause), longestPause)
		t.after = m.now.Add(t.pause)
		return t.failed
	}
	t.pause = 0
	return nil
}

// refresh tells an Alertmanager again of all that fires, as it expects. That is no news: nothing is noted.
func (t *teller) refresh(ctx context.Context, m *moment) error {
	if _, wants := t.Receiver.(*receiver.Alertmanager); !wants || m.now.Sub(t.refreshed) < receiver.RefreshEvery {
		return nil
	}
	var firing []*schemas.AlertRow
	for i := range m.rows {
		if row := &m.rows[i]; row.State == receiver.Firing && t.Tells(row.Rule) && !m.silent(row) {
			firing = append(firing, row)
		}
	}
	for _, rows := range t.grouped(firing) {
		if err := t.send(ctx, m, rows); err != nil {
			return err
		}
	}
	t.refreshed = m.now
	return nil
}
