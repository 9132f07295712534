package system

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tensortap/tensortap/internal/audit"
	"github.com/tensortap/tensortap/internal/retention"
	"github.com/tensortap/tensortap/pipelines"
	"github.com/tensortap/tensortap/schemas"
)

// Lifetime is when a run goes by the rules of retention.
type Lifetime struct {
	Run   string
	Goes  time.Time
	Bytes uint64   // in tables and archive
	Why   []string // it stays all the same
}

// Lifetimes are those of all runs for which a rule has a time, the next to go first.
func (c *Client) Lifetimes(ctx context.Context, rules retention.Rules) ([]Lifetime, error) {
	table, err := c.Table(ctx, "SELECT name, last_event_time_ns, status FROM tap.runs", nil)
	if err != nil {
		return nil, fmt.Errorf("list stored runs: %w", err)
	}
	pinned, err := pipelines.PinnedRuns(ctx, c.stream)
	if err != nil {
		return nil, err
	}
	stores := c.stores("")
	uses, err := stores.Durable(ctx)
	if err != nil {
		return nil, err
	}
	var all []Lifetime
	for i := range table.Rows {
		name := table.Get(i, "name").Exact
		at, goes := rules.Goes(name, time.Unix(0, int64(table.Get(i, "last_event_time_ns").Number)))
		if !goes {
			continue
		}
		life := Lifetime{Run: name, Goes: at}
		if life.Why, err = c.against(ctx, name, pinned[schemas.RunID(name)]); err != nil {
			return nil, err
		}
		for _, u := range uses {
			if u.RunID == schemas.RunID(name) {
				life.Bytes += u.Bytes
			}
		}
		all = append(all, life)
	}
	slices.SortStableFunc(all, func(a, b Lifetime) int { return a.Goes.Compare(b.Goes) })
	return all, nil
}

// LifetimeTable is when each run goes, as a table.
func (c *Client) LifetimeTable(ctx context.Context, rules retention.Rules) (arrow.RecordBatch, error) {
	lives, err := c.Lifetimes(ctx, rules)
	if err != nil {
		return nil, err
	}
	text := arrow.BinaryTypes.String
	b := array.NewRecordBuilder(memory.DefaultAllocator, arrow.NewSchema([]arrow.Field{
		{Name: "run", Type: text}, {Name: "goes", Type: text}, {Name: "bytes", Type: arrow.PrimitiveTypes.Uint64}, {Name: "stays_because", Type: text},
	}, nil))
	defer b.Release()
	texts := func(i int) *array.StringBuilder { return b.Field(i).(*array.StringBuilder) } //nolint:errcheck // as the fields above
	for _, life := range lives {
		texts(0).Append(life.Run)
		texts(1).Append(life.Goes.UTC().Format(time.DateTime))
		b.Field(2).(*array.Uint64Builder).Append(life.Bytes) //nolint:errcheck // likewise
		texts(3).Append(strings.Join(life.Why, "; "))
	}
	return b.NewRecordBatch(), nil
}

// expireEvery is how often it is looked whose time is over.
const expireEvery = 10 * time.Minute

// expire decides of each run whose time is over that it goes, until ctx ends.
func (s *System) expire(ctx context.Context, client *Client) error {
	if len(s.cfg.Rules) == 0 {
		return nil
	}
	tick := time.NewTicker(expireEvery)
	defer tick.Stop()
	for {
		if err := s.expireNow(ctx, client); err != nil && ctx.Err() == nil {
			s.cfg.Log.Warn().Err(err).Msg("not known whose time is over, looking again later")
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}

func (s *System) expireNow(ctx context.Context, client *Client) error {
	lives, err := client.Lifetimes(ctx, s.cfg.Rules)
	if err != nil {
		return err
	}
	fates, err := pipelines.OpenFates(ctx, client.stream)
	if err != nil {
		return err
	}
	fates.By = "the rules of retention"
	for _, life := range lives {
		if len(life.Why) > 0 || life.Goes.After(s.cfg.Now()) {
			continue
		}
		deed := audit.Deed{Name: "delete", Run: life.Run, Details: map[string]string{"by": "the rules of retention"}}
		err := client.Audited(ctx, deed, func() error {
			_, err := fates.Delete(ctx, life.Run, s.cfg.Now(), false)
			return err
		})
		if err != nil {
			return err // pinned just now: it is seen the next time
		}
		s.cfg.Log.Warn().Str("run", life.Run).Uint64("bytes", life.Bytes).Time("since", life.Goes).Msg("the time of a run is over by the rules of retention, it is deleted")
	}
	return nil
}
