// Package alerts tells people of what the tables know and nobody asked for. Rules are SQL; each row of an answer is an alert
// that should be firing. What changes is published as an event, and then the receivers are told.
package alerts

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"

	"github.com/tensortap/tensortap/consumers/alerts/receiver"
	"github.com/tensortap/tensortap/schemas"
)

// Role asks the rules again and again, as one of several roles of which one at a time is at work.
type Role struct {
	Config Config
	Source Source
	// History are the stored changes that count: of each alert all of the last hour, and the latest if it fires or is not
	// older than Remembered. It waits until all that was published before is stored.
	History func(ctx context.Context) ([]schemas.AlertRow, error)
	// Publish returns when the stream has the messages.
	Publish func(ctx context.Context, messages ...schemas.Message) error
	// Mine says whether the work is this role's, until it is asked again.
	Mine func(ctx context.Context, work string) (bool, error)
	// LetGo leaves it to others, until Mine is asked again.
	LetGo  func(ctx context.Context)
	Bucket jetstream.KeyValue
	Now    func() time.Time
	Log    zerolog.Logger

	book    *book     // nil while another role is at work
	looked  time.Time // up to when the tables knew all at the last look; zero before the first
	fired   map[uint64]time.Time
	tellers []*teller
	said    map[question]string // what is wrong, so that it is said once
}

// Remembered is how long a receiver that cannot be told may be away and still hear of what was resolved meanwhile.
const Remembered = 7 * 24 * time.Hour

// Work is the name of the lease of the role that is at work.
const Work = "alerts"

// restFor is how many times as long as a look took is waited before the next at least, so that the rules take a quarter of
// the time of one query at most.
const restFor = 3

// Run looks until ctx ends. What goes wrong is logged and tried again.
func (r *Role) Run(ctx context.Context) error {
	r.said = map[question]string{}
	wait := time.NewTimer(0)
	defer wait.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-wait.C:
		}
		began := r.Now()
		if err := r.look(ctx); err != nil && ctx.Err() == nil {
			r.say("alerts could not be looked at, try again", question{}, err)
			r.book = nil
			r.LetGo(ctx) // another role may reach what this one cannot
		}
		wait.Reset(max(r.Config.Every, restFor*r.Now().Sub(began)))
	}
}

// look asks all rules, stores what changed, and tells the receivers.
func (r *Role) look(ctx context.Context) error {
	mine, err := r.Mine(ctx, Work)
	if err != nil || !mine {
		r.book = nil
		return err
	}
	if r.book == nil {
		if err := r.load(ctx); err != nil {
			return err
		}
	}
	found, err := r.ask(ctx)
	if err != nil {
		return err
	}
	delete(r.said, question{})
	if err := r.change(ctx, r.book.step(r.Now(), found)); err != nil {
		return err
	}
	if !found.missed {
		if err := r.noteLook(ctx, found.knownUpTo); err != nil {
			return err
		}
	}
	return r.tell(ctx)
}

// load begins with what is stored, as after a start or when another role died.
func (r *Role) load(ctx context.Context) error {
	rows, err := r.History(ctx)
	if err != nil {
		return fmt.Errorf("read stored alerts: %w", err)
	}
	if r.looked, err = lastLook(ctx, r.Bucket); err != nil {
		return err
	}
	b := newBook(r.Config.Keep, rows)
	r.fired, r.tellers = map[uint64]time.Time{}, nil
	for i := range rows {
		r.remember(&rows[i])
	}
	for _, target := range r.Config.Receivers {
		t, err := newTeller(ctx, r.Bucket, &r.Config, target, b.latest())
		if err != nil {
			return err
		}
		r.tellers = append(r.tellers, t)
	}
	r.book = b
	return nil
}

// remember notes when an alert fired last.
func (r *Role) remember(row *schemas.AlertRow) {
	at := time.Unix(0, row.ChangedTimeNs).UTC()
	if row.State == receiver.Resolved {
		at = time.Unix(0, row.SinceTimeNs).UTC() // where its firing is not among the rows
	}
	if at.After(r.fired[row.Fingerprint]) {
		r.fired[row.Fingerprint] = at
	}
}

func (r *Role) ask(ctx context.Context) (answers, error) {
	began := r.Now() // what is published while it is measured may not be stored
	measured, err := r.Source.Measured(ctx)
	if err != nil {
		return answers{}, err
	}
	known := began.Add(-measured.Behind)
	current, err := r.Source.Current(ctx, known)
	if err != nil {
		return answers{}, err
	}
	if len(current) > mostRuns {
		r.say("more runs go on than rules are asked about one by one", question{run: "*"}, fmt.Errorf("%d runs: the first %d", len(current), mostRuns))
		current = current[:mostRuns]
	}
	a := asking{source: r.Source, current: current, common: measured.parameters(known, r.looked, current), behind: measured.Behind, told: r.say}
	found := a.all(ctx, &r.Config)
	found.knownUpTo = known
	maps.DeleteFunc(r.said, func(q question, _ string) bool { return a.answered[q] })
	// Asked last: of a run that goes since the rules were asked, rows may have been missing.
	deleted, err := r.Source.deleted(ctx, append(found.runs(), r.book.runs()...))
	if err != nil {
		return answers{}, err
	}
	found.drop(deleted)
	return found, ctx.Err()
}

// change stores changes, and only then takes them for true.
func (r *Role) change(ctx context.Context, rows []schemas.AlertRow) error {
	messages := make([]schemas.Message, len(rows))
	for i := range rows {
		var err error
		if messages[i], err = message(&rows[i]); err != nil {
			return err
		}
	}
	if len(messages) == 0 {
		return nil
	}
	if err := r.Publish(ctx, messages...); err != nil {
		return fmt.Errorf("publish alerts: %w", err)
	}
	for i := range rows {
		r.book.apply(&rows[i])
		r.remember(&rows[i])
		r.Log.Info().Str("rule", rows[i].Rule).Str("state", rows[i].State).Msg(rows[i].Summary)
	}
	return nil
}

// tell tells all receivers at the same time: one that does not answer keeps no other waiting.
func (r *Role) tell(ctx context.Context) error {
	silences, err := r.silences(ctx)
	if err != nil {
		return err
	}
	m := &moment{now: r.Now(), rows: r.book.latest(), fired: r.fired, silences: silences}
	failed, lost := make([]error, len(r.tellers)), make([]error, len(r.tellers))
	var all sync.WaitGroup
	for i, t := range r.tellers {
		all.Go(func() { failed[i], lost[i] = t.tell(ctx, m) })
	}
	all.Wait()
	for i, t := range r.tellers {
		if failed[i] != nil {
			r.say("receiver could not be told, try again", question{rule: "receiver " + t.Name}, failed[i])
		} else {
			delete(r.said, question{rule: "receiver " + t.Name})
		}
		if lost[i] != nil {
			return lost[i]
		}
	}
	r.forget(m)
	return nil
}

// silences are those that are on. Those that are over are removed.
func (r *Role) silences(ctx context.Context) ([]Silence, error) {
	all, err := Silences(ctx, r.Bucket)
	if err != nil {
		return nil, err
	}
	var on []Silence
	for i := range all {
		if r.Now().Before(all[i].Until) {
			on = append(on, all[i])
		} else if err := r.Bucket.Purge(ctx, silencePrefix+all[i].ID); err != nil {
			return nil, err
		}
	}
	return on, nil
}

// forget drops what nobody has to know any more.
func (r *Role) forget(m *moment) {
	r.book.forget(m.now.Add(-Remembered))
	known := r.book.latest()
	for _, t := range r.tellers {
		t.notes.prune(known)
	}
	maps.DeleteFunc(r.fired, func(fingerprint uint64, _ time.Time) bool { return r.book.alerts[fingerprint] == nil })
}

// say logs what is wrong once, and again when it is something else.
func (r *Role) say(message string, about question, err error) {
	if r.said[about] == err.Error() {
		return
	}
	r.said[about] = err.Error()
	r.Log.Warn().Err(err).Str("about", about.rule).Str("run", about.run).Msg(message)
}
