package system

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/tensortap/tensortap/analysis/ask"
	"github.com/tensortap/tensortap/analysis/compare"
	"github.com/tensortap/tensortap/analysis/judging"
	"github.com/tensortap/tensortap/analysis/mapping"
	"github.com/tensortap/tensortap/analysis/verdicts"
	"github.com/tensortap/tensortap/internal/audit"
	"github.com/tensortap/tensortap/schemas"
)

// BaselineRequest says which runs are held against which, as they land.
type BaselineRequest struct {
	Name    string
	Compare CompareRequest    // benches and rules; it names no problem
	Labels  map[string]string // that a run must have; empty for every run
}

// longestBaseline bounds the name of a baseline, in characters.
const longestBaseline = 200

func (r BaselineRequest) validate() error {
	if n := utf8.RuneCountInString(r.Name); n == 0 || n > longestBaseline || !utf8.ValidString(r.Name) {
		return fmt.Errorf("name of baseline %q: want 1 to %d characters of UTF-8", r.Name, longestBaseline)
	}
	labelled := PublishRequest{Labels: r.Labels}
	return errors.Join(labelled.validate(), r.Compare.Validate())
}

// SetBaseline sets a baseline, in the place of one of the same name, and returns when the database holds it. It warns of
// benches that are not stored yet.
func (c *Client) SetBaseline(ctx context.Context, r BaselineRequest) (warnings []string, err error) {
	deed := audit.Deed{Name: "baseline set", Target: r.Name, Details: map[string]string{"benches": fmt.Sprint(r.Compare.Benches), "match": fmt.Sprint(r.Labels)}}
	err = c.Audited(ctx, deed, func() error {
		warnings, err = c.setBaseline(ctx, r)
		return err
	})
	return warnings, err
}

func (c *Client) setBaseline(ctx context.Context, r BaselineRequest) (warnings []string, err error) { //nolint:gocritic // copied to be changed
	r.Compare.Stored = true
	if err := r.validate(); err != nil {
		return nil, err
	}
	for _, bench := range r.Compare.Benches {
		if missing := c.CheckRun(ctx, bench); missing != nil {
			warnings = append(warnings, "nothing is judged against run "+bench+" until it is there: "+missing.Error())
		}
	}
	declared := judging.Comparison{Request: r.Compare.analysis(r.Compare.Sides()), Strict: r.Compare.Strict}
	r.Compare.keepToNames(&declared.Request)
	if declared.Request.Judge.Exceptions, err = judging.Exceptions(ctx, c.Door); err != nil {
		return nil, err
	}
	return warnings, c.publishBaseline(ctx, declared.Baseline(r.Name, r.Labels, 0))
}

// keepToNames gives a comparison that stands, and was asked for by names alone, a map of its own: the judge takes the map that
// ships for runs that have none.
func (r CompareRequest) keepToNames(standing *compare.Request) {
	if r.ByName {
		standing.Map = mapping.ByNames()
	}
}

// RemoveBaseline removes a baseline, and returns when the database knows.
func (c *Client) RemoveBaseline(ctx context.Context, name string) error {
	return c.Audited(ctx, audit.Deed{Name: "baseline remove", Target: name}, func() error { return c.removeBaseline(ctx, name) })
}

func (c *Client) removeBaseline(ctx context.Context, name string) error {
	row, err := c.baseline(ctx, name)
	if err != nil {
		return err
	}
	if row.Name == "" || row.Removed == 1 {
		return c.noBaseline(ctx, name)
	}
	row.Removed = 1
	return c.publishBaseline(ctx, row)
}

// publishBaseline makes the row the latest of its name, also where an earlier one is from a host whose clock goes before.
func (c *Client) publishBaseline(ctx context.Context, row schemas.BaselineRow) error {
	before, err := c.baseline(ctx, row.Name)
	if err != nil {
		return err
	}
	row.ChangedTimeNs = max(c.now().UnixNano(), before.ChangedTimeNs+1)
	message, err := verdicts.Baseline(row)
	if err != nil {
		return err
	}
	publisher, err := (&publishing{client: c}).newPublisher()
	if err != nil {
		return err
	}
	defer publisher.Close()
	if err := errors.Join(publisher.Publish(ctx, message), publisher.Flush(ctx)); err != nil {
		return fmt.Errorf("publish baseline %s: %w", row.Name, err)
	}
	return c.WaitStored(ctx)
}

// baseline is the latest row of that name; without a name where there is none.
func (c *Client) baseline(ctx context.Context, name string) (schemas.BaselineRow, error) {
	all, err := ask.Rows[schemas.BaselineRow](ctx, c.Door, "1 ORDER BY name, changed_time_ns DESC, removed DESC LIMIT 1 BY name")
	if i := slices.IndexFunc(all, func(row schemas.BaselineRow) bool { return row.Name == name }); i >= 0 {
		return all[i], err
	}
	return schemas.BaselineRow{}, err
}

// noBaseline is the error of a name that no baseline has.
func (c *Client) noBaseline(ctx context.Context, name string) error {
	table, err := c.Table(ctx, "SELECT name FROM tap.baselines ORDER BY editDistanceUTF8(name, {name:String}), name LIMIT 3", map[string]string{"name": name})
	if err != nil {
		return err
	}
	if len(table.Rows) == 0 {
		return fmt.Errorf("no baseline is named %q: none is set", name)
	}
	names := make([]string, len(table.Rows))
	for i := range names {
		names[i] = strconv.Quote(table.Get(i, "name").Exact)
	}
	return fmt.Errorf("no baseline is named %q; the nearest: %s; `tensortap baseline list` lists all", name, strings.Join(names, ", "))
}

// DeclareStanding has the problem, which need not exist yet, be judged against its benches, which must be stored, as its
// steps land. It returns when the stream knows.
func (c *Client) DeclareStanding(ctx context.Context, r CompareRequest) error {
	r.Stored = true
	if err := r.Validate(); err != nil {
		return err
	}
	for _, bench := range r.Benches {
		if err := c.checkNamed(ctx, bench); err != nil {
			return err
		}
	}
	declared, err := c.declaration(ctx, r, r.Sides())
	if err != nil {
		return err
	}
	declared.Standing = true
	r.keepToNames(&declared.Request)
	publisher, err := (&publishing{client: c}).newPublisher()
	if err != nil {
		return err
	}
	defer publisher.Close()
	keeper := judging.Keeper{Door: c.Door, Publish: publisher.PublishTogether, Now: c.now}
	return errors.Join(keeper.Declare(ctx, declared), publisher.Flush(ctx))
}
