// Package retention removes runs from every store, and says what takes the room in them.
//
// That a run goes is one durable value of a bucket beside the stream (pipelines.Fates). Consumers look at it before they
// write: whatever comes of a deleted run, however late, they acknowledge and count, and store nothing of it. Whoever writes
// the stores then removes what these have, step by step; each step may be repeated, so a kill costs nothing but time.
package retention

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"

	"github.com/tensortap/tensortap/pipelines"
	"github.com/tensortap/tensortap/schemas"
)

// Deleted is the set of deleted runs, and of parts of runs, as the consumers of one process heed it. The zero value is the empty
// set. Its methods may be called at the same time.
type Deleted struct {
	writing sync.RWMutex // held for reading while messages are written
	runs    DeletedParts

	counting sync.Mutex
	late     map[uint64]uint64
}

// DeletedParts are the parts of each run that go, by its id.
type DeletedParts map[uint64][]string

// Of is what was decided.
func Of(fates map[uint64]pipelines.Fate) DeletedParts {
	all := DeletedParts{}
	for id, fate := range fates {
		if parts := fate.Removals(); len(parts) > 0 {
			all[id] = parts
		}
	}
	return all
}

// Has says whether events of a kind go with the run, or with a part of it.
func (d DeletedParts) Has(runID uint64, kind string) bool {
	return slices.ContainsFunc(d[runID], func(part string) bool { return Goes(part, kind) })
}

// Whole says whether all of the run goes.
func (d DeletedParts) Whole(runID uint64) bool { return slices.Contains(d[runID], Whole) }

// Add puts a part of a run into the set, and returns once no write is under way that might hold messages of it.
func (d *Deleted) Add(runID uint64, part string) {
	if slices.Contains(d.Runs()[runID], part) {
		return
	}
	d.writing.Lock()
	defer d.writing.Unlock()
	if d.runs == nil {
		d.runs = DeletedParts{}
	}
	d.runs[runID] = append(slices.Clone(d.runs[runID]), part)
}

// Has says whether a message goes with a deleted run, or a part of one.
func (d *Deleted) Has(m schemas.Message) bool {
	d.writing.RLock()
	defer d.writing.RUnlock()
	return d.has(m)
}

// has is for who holds the mutex.
func (d *Deleted) has(m schemas.Message) bool {
	return d.runs.Has(m.Header.Identity.RunID, m.Header.Kind)
}

// Runs are those of the set.
func (d *Deleted) Runs() DeletedParts {
	d.writing.RLock()
	defer d.writing.RUnlock()
	return maps.Clone(d.runs)
}

// Late is how many messages of each run came after its deletion, by all consumers together.
func (d *Deleted) Late() map[uint64]uint64 {
	d.counting.Lock()
	defer d.counting.Unlock()
	return maps.Clone(d.late)
}

// Heeding is a sink that keeps deleted runs out of another: to whoever delivers them, their messages are stored.
func (d *Deleted) Heeding(sink pipelines.Sink) pipelines.Sink { return heeding{sink, d} } //nolint:ireturn // it stands for any sink

type heeding struct {
	sink    pipelines.Sink
	deleted *Deleted
}

// Write implements pipelines.Sink.
func (h heeding) Write(ctx context.Context, messages []schemas.Message) error {
	h.deleted.writing.RLock()
	defer h.deleted.writing.RUnlock()
	kept, places := h.deleted.without(messages)
	var err error
	if len(kept) > 0 {
		err = h.sink.Write(ctx, kept)
	}
	rejected := (*schemas.RejectedError)(nil)
	switch {
	case errors.As(err, &rejected):
		err = moved(rejected, places)
	case err != nil:
		return err
	}
	h.deleted.count(messages)
	return err
}

// without are the messages of other runs, and where they stood.
func (d *Deleted) without(messages []schemas.Message) (kept []schemas.Message, places []int) {
	for i, m := range messages {
		if !d.has(m) {
			kept, places = append(kept, m), append(places, i)
		}
	}
	return kept, places
}

// moved are the same refusals at the places of all messages.
func moved(rejected *schemas.RejectedError, places []int) error {
	reasons := make(map[int]string, len(rejected.Reasons))
	for i, reason := range rejected.Reasons {
		reasons[places[i]] = reason
	}
	return &schemas.RejectedError{Reasons: reasons}
}

func (d *Deleted) count(messages []schemas.Message) {
	d.counting.Lock()
	defer d.counting.Unlock()
	for _, m := range messages {
		if !d.has(m) {
			continue
		}
		if d.late == nil {
			d.late = map[uint64]uint64{}
		}
		d.late[m.Header.Identity.RunID]++
	}
}
