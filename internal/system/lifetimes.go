package system

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/rs/zerolog"

	"github.com/tensortap/tensortap/internal/audit"
	"github.com/tensortap/tensortap/internal/retention"
	"github.com/tensortap/tensortap/pipelines"
	"github.com/tensortap/tensortap/schemas"
)

// Lifetime is when a run, or a part of it, goes by the rules of retention.
type Lifetime struct {
	Run   string
	Part  string // as package retention names them; empty for the whole
	Goes  time.Time
	Bytes uint64   // in tables and archive
	Why   []string // it stays all the same
}

// Lifetimes are those of all runs and parts for which a rule has a time and that do not go already, the next to go first.
func (c *Client) Lifetimes(ctx context.Context, rules retention.Rules) ([]Lifetime, error) {
	table, err := c.Table(ctx, "SELECT name, last_event_time_ns FROM tap.runs", nil)
	if err != nil {
		return nil, fmt.Errorf("list stored runs: %w", err)
	}
	decided, err := pipelines.DecidedOf(ctx, c.stream)
	if err != nil {
		return nil, err
	}
	uses, err := c.durable(ctx)
	if err != nil {
		return nil, err
	}
	var all []Lifetime
	for i := range table.Rows {
		name := table.Get(i, "name").Exact
		fate := decided[schemas.RunID(name)]
		lives := livesOf(rules, name, time.Unix(0, int64(table.Get(i, "last_event_time_ns").Number)), &fate, uses)
		if len(lives) == 0 {
			continue
		}
		if slices.ContainsFunc(lives, func(l Lifetime) bool { return !l.Goes.After(c.now()) }) {
			heard, err := c.lastHeard(ctx, name)
			if err != nil {
				return nil, err
			}
			lives = notBefore(lives, rules.Going(name, heard))
		}
		why, err := c.against(ctx, name, fate.PinnedNs != 0)
		if err != nil {
			return nil, err
		}
		for j := range lives {
			lives[j].Why = why
		}
		all = append(all, lives...)
	}
	slices.SortStableFunc(all, func(a, b Lifetime) int { return a.Goes.Compare(b.Goes) })
	return all, nil
}

// lastHeard is when the stream had the last sign of life of a run, by its server's clock; that of a rank may be days behind. It is zero where
// the stream has none, as of files.
func (c *Client) lastHeard(ctx context.Context, run string) (time.Time, error) {
	last, err := pipelines.LastUnder(ctx, c.stream, schemas.Heartbeat().Kind()+"."+schemas.FormatID(schemas.RunID(run))+".*")
	if last == nil || err != nil {
		return time.Time{}, err
	}
	return last.Time, nil
}

// notBefore has nothing go before that time of its part.
func notBefore(lives []Lifetime, goes map[string]time.Time) []Lifetime {
	for i := range lives {
		if least := goes[lives[i].Part]; least.After(lives[i].Goes) {
			lives[i].Goes = least
		}
	}
	return lives
}

// livesOf are those of one run whose last event was then.
func livesOf(rules retention.Rules, run string, last time.Time, fate *pipelines.Fate, uses []retention.Use) []Lifetime {
	goes := rules.Going(run, last)
	var lives []Lifetime
	for _, part := range slices.Sorted(maps.Keys(goes)) {
		if slices.ContainsFunc(fate.Removals(), func(gone string) bool { return retention.Covers(gone, part) }) {
			continue
		}
		life := Lifetime{Run: run, Part: part, Goes: goes[part]}
		for _, u := range uses {
			if u.RunID == schemas.RunID(run) && retention.Goes(part, u.Kind) {
				life.Bytes += u.Bytes
			}
		}
		lives = append(lives, life)
	}
	return lives
}

// LifetimeTable is when each run and each part goes, and each spool below a root on this host, as a table.
func (c *Client) LifetimeTable(ctx context.Context, rules retention.Rules, spool string) (arrow.RecordBatch, error) {
	lives, err := c.Lifetimes(ctx, rules)
	if err != nil {
		return nil, err
	}
	spools, err := spoolLifetimes(rules, spool)
	if err != nil {
		return nil, err
	}
	lives = append(lives, spools...)
	slices.SortStableFunc(lives, func(a, b Lifetime) int { return a.Goes.Compare(b.Goes) })
	text := arrow.BinaryTypes.String
	b := array.NewRecordBuilder(memory.DefaultAllocator, arrow.NewSchema([]arrow.Field{
		{Name: "run", Type: text}, {Name: "part", Type: text}, {Name: "goes", Type: text}, {Name: "bytes", Type: arrow.PrimitiveTypes.Uint64}, {Name: "stays_because", Type: text},
	}, nil))
	defer b.Release()
	texts := func(i int) *array.StringBuilder { return b.Field(i).(*array.StringBuilder) } //nolint:errcheck // as the fields above
	for _, life := range lives {
		texts(0).Append(life.Run)
		texts(1).Append(cmp.Or(life.Part, "all"))
		texts(2).Append(life.Goes.UTC().Format(time.DateTime))
		b.Field(3).(*array.Uint64Builder).Append(life.Bytes) //nolint:errcheck // likewise
		texts(4).Append(strings.Join(life.Why, "; "))
	}
	return b.NewRecordBatch(), nil
}

// expireAgain is when whose time is over is looked for again where that was not known.
const expireAgain = 10 * time.Second

// expire decides of each run whose time is over that it goes, until ctx ends. Several processes may do so.
func (c *Client) expire(ctx context.Context, rules retention.Rules, log zerolog.Logger) error {
	if len(rules) == 0 {
		return nil
	}
	for {
		next := rules.LookEvery()
		if err := c.expireNow(ctx, rules, log); err != nil && ctx.Err() == nil {
			log.Warn().Err(err).Msg("not known whose time is over, looking again later")
			next = min(next, expireAgain)
		}
		select {
		case <-time.After(next):
		case <-ctx.Done():
			return nil
		}
	}
}

// expirePatience is long: where tables lag a little for good, runs go all the same.
const expirePatience = time.Minute

func (c *Client) expireNow(ctx context.Context, rules retention.Rules, log zerolog.Logger) error {
	if err := c.waitCurrent(ctx, expirePatience); err != nil { // a later event of a run, or a baseline that names it, may be on its way
		return err
	}
	lives, err := c.Lifetimes(ctx, rules)
	if err != nil {
		return err
	}
	fates, err := pipelines.OpenFates(ctx, c.stream)
	if err != nil {
		return err
	}
	fates.By = "the rules of retention"
	lives = slices.DeleteFunc(lives, func(l Lifetime) bool { return len(l.Why) > 0 || l.Goes.After(c.now()) })
	for _, life := range lives {
		if slices.ContainsFunc(lives, func(other Lifetime) bool {
			return other.Run == life.Run && other.Part != life.Part && retention.Covers(other.Part, life.Part)
		}) {
			continue
		}
		if err := c.decide(ctx, fates, life, log); err != nil {
			return err // pinned just now: it is seen the next time
		}
	}
	return nil
}

// decide has a run go whose time is over, or a part of one.
func (c *Client) decide(ctx context.Context, fates *pipelines.Fates, life Lifetime, log zerolog.Logger) error {
	log = log.With().Str("run", life.Run).Uint64("bytes", life.Bytes).Time("since", life.Goes).Logger()
	deed := audit.Deed{Name: "delete", Run: life.Run, Target: life.Part, Details: map[string]string{"by": fates.By}}
	return c.Audited(ctx, deed, func() error {
		if life.Part == retention.Whole {
			if _, err := fates.Delete(ctx, life.Run, c.now(), false); err != nil {
				return err
			}
			log.Warn().Msg("the time of a run is over by the rules of retention, it is deleted")
			return nil
		}
		decided, err := fates.RemovePart(ctx, life.Run, life.Part, c.now())
		if decided {
			log.Warn().Str("part", life.Part).Msg("the time of a part of a run is over by the rules of retention, it is removed")
		}
		return err
	})
}
