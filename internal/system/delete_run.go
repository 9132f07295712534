package system

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tensortap/tensortap/internal/audit"
	"github.com/tensortap/tensortap/internal/retention"
	"github.com/tensortap/tensortap/pipelines"
	"github.com/tensortap/tensortap/schemas"
)

const (
	deletedLook = 20 * time.Millisecond // how often it is asked whether a run is gone
	servedLook  = time.Second           // how often it is asked whether a store is filled
	// unservedFor is how long nobody may ask for messages for a store before it is not waited for: longer than it takes until another
	// process has what a dead one had.
	unservedFor = 20 * time.Second
	// leaderPatience is longer than each stream and consumer takes to get a new leader on a busy machine.
	leaderPatience = 3 * time.Minute
)

// DeleteRun decides durably that a run goes, and returns once nothing is left of it, with what is measured then. An error
// after the decision says why that takes long: the processes that fill the stores go on, and so do the next.
func (c *Client) DeleteRun(ctx context.Context, d *Deletion, evenPinned bool) (left []retention.Use, err error) {
	err = c.Audited(ctx, deletionOf(d.Run, evenPinned), func() error {
		left, err = c.deleteRun(ctx, d, evenPinned)
		return err
	})
	return left, err
}

func deletionOf(run string, evenPinned bool) audit.Deed {
	return audit.Deed{Name: "delete", Run: run, Details: map[string]string{"force": strconv.FormatBool(evenPinned)}}
}

// KeepRun writes down that somebody asked to delete a run, and that it is kept, and why.
func (c *Client) KeepRun(ctx context.Context, run string, why error) error {
	return c.Audited(ctx, deletionOf(run, false), func() error { return audit.Refuse(why) })
}

func (c *Client) deleteRun(ctx context.Context, d *Deletion, evenPinned bool) ([]retention.Use, error) {
	fates, err := pipelines.OpenFates(ctx, c.stream)
	if err != nil {
		return nil, err
	}
	fates.By = c.who().String()
	if _, err := fates.Delete(ctx, d.Run, c.now(), evenPinned); err != nil {
		if errors.Is(err, pipelines.ErrRunPinned) {
			err = audit.Refuse(err)
		}
		return nil, err
	}
	filled, answered := filling{}, c.now()
	for {
		fate, err := fates.Of(ctx, schemas.RunID(d.Run))
		if err == nil && fate.GoneNs != 0 {
			return c.roomOf(ctx, d.Run)
		}
		if err == nil {
			err = c.mayWait(ctx, &fate, &filled)
		}
		switch now := c.now(); {
		case err == nil:
			answered = now
		case !away(err):
			return nil, err
		case now.Sub(answered) > leaderPatience:
			return nil, fmt.Errorf("it is decided that run %s goes, and who fills the stores goes on with that, but the stream does not answer: %w", d.Run, err)
		}
		select {
		case <-time.After(deletedLook):
		case <-ctx.Done():
			return nil, fmt.Errorf("it is decided that run %s goes, and who fills the stores goes on with that: %w", d.Run, context.Cause(ctx))
		}
	}
}

// filling is when each store was seen filled.
type filling struct {
	looked time.Time
	seen   map[string]time.Time
}

// mayWait is an error where waiting for the end of a deletion is of no use.
func (c *Client) mayWait(ctx context.Context, fate *pipelines.Fate, filled *filling) error {
	if len(fate.Troubles) > 0 {
		return fmt.Errorf("it is decided that run %s goes, and who fills the stores goes on trying: %s", fate.Name, troublesOf(fate))
	}
	now := c.now()
	if now.Sub(filled.looked) < servedLook {
		return nil
	}
	all, err := stores(ctx, c.stream)
	if err != nil {
		return err
	}
	filled.looked = now
	if idle := filled.idle(all, fate.Left(namesOf(all)), now); len(idle) > 0 {
		return fmt.Errorf("it is decided that run %s goes, but nobody fills %s just now: it goes from there as soon as somebody does", fate.Name, strings.Join(idle, ", "))
	}
	return nil
}

func troublesOf(fate *pipelines.Fate) string {
	var texts []string
	for _, name := range slices.Sorted(maps.Keys(fate.Troubles)) {
		texts = append(texts, name+": "+fate.Troubles[name])
	}
	return strings.Join(texts, "; ")
}

// idle are those of the stores that something is left in and that nobody has filled for some time, in words.
func (f *filling) idle(all []pipelines.Storer, left []string, now time.Time) []string {
	if f.seen == nil {
		f.seen = map[string]time.Time{}
	}
	words := map[string]bool{}
	for _, s := range all {
		if _, known := f.seen[s.Name]; !known || s.Served {
			f.seen[s.Name] = now
		}
		if slices.Contains(left, s.Name) && now.Sub(f.seen[s.Name]) > unservedFor {
			words[storeInWords(s.Name)] = true
		}
	}
	return slices.Sorted(maps.Keys(words))
}

// storeInWords is what a consumer fills.
func storeInWords(consumer string) string {
	switch {
	case strings.HasPrefix(consumer, tablesPrefix):
		return "the tables " + consumer[:strings.LastIndexByte(consumer, '-')]
	case strings.HasPrefix(consumer, archiveConsumer):
		return "the archive " + consumer
	default:
		return "the tables"
	}
}
