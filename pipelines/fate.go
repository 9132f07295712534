package pipelines

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"
)

// Fate is what was decided of a run. It is one value of the bucket, so of a pin and a deletion at the same moment one wins.
type Fate struct {
	Name      string           `json:"name"`
	PinnedNs  int64            `json:"pinned_time_ns,omitempty"`  // 0: not pinned
	DeletedNs int64            `json:"deleted_time_ns,omitempty"` // 0: not deleted; else nothing of it is stored from then on, for ever
	Epochs    []string         `json:"epochs,omitempty"`          // of its live starts: by these the folders on their hosts are known
	Parts     map[string]*Part `json:"parts,omitempty"`           // that were removed while the run stayed, by name
	By        string           `json:"by,omitempty"`              // who decided the last of it

	Going // of the whole run
}

// Part is what was decided of a part of a run's events.
type Part struct {
	RemovedNs int64 `json:"removed_time_ns"` // nothing of it is stored from then on, for ever

	Going
}

// Going is how far a removal has come.
type Going struct {
	Purged   []Purge           `json:"purged,omitempty"`       // what was removed from the stream, in its order
	RidOf    []string          `json:"rid_of,omitempty"`       // consumers whose stores have nothing of it any more, and take nothing
	GoneNs   int64             `json:"gone_time_ns,omitempty"` // 0: the removal is under way
	Troubles map[string]string `json:"troubles,omitempty"`     // by consumer, why it has not come further
}

// Deleted says whether it was decided that the run goes.
func (f *Fate) Deleted() bool { return f.DeletedNs != 0 }

// Removals are the parts of the run of which it was decided that they go; the whole has no name, and stands for all.
func (f *Fate) Removals() []string {
	if f.Deleted() {
		return []string{""}
	}
	return slices.Sorted(maps.Keys(f.Parts))
}

// Removal is how far that of a part has come, or that of the whole; nil where none was decided.
func (f *Fate) Removal(part string) *Going {
	if part == "" && f.Deleted() {
		return &f.Going
	}
	if p := f.Parts[part]; p != nil {
		return &p.Going
	}
	return nil
}

// refusal is the error of who would make a run of that name.
func (f *Fate) refusal() error {
	if !f.Deleted() {
		return nil
	}
	return fmt.Errorf("run %s %w on %s, and what came late of it could not be told from a new run: choose another name",
		strconv.Quote(f.Name), ErrRunDeleted, day(f.DeletedNs))
}

// closed is the error of who would add to a run.
func (f *Fate) closed() error {
	for _, part := range f.Removals() {
		if p := f.Parts[part]; p != nil {
			return fmt.Errorf("of run %s retention removed the %s on %s, and nothing is added to it: choose another name", strconv.Quote(f.Name), part, day(p.RemovedNs))
		}
	}
	return f.refusal()
}

func day(ns int64) string { return time.Unix(0, ns).UTC().Format("2006-01-02 15:04:05 UTC") }

// pinned is the error of who would remove something of a pinned run.
func (f *Fate) pinned(run string) error {
	if f.PinnedNs == 0 || f.Deleted() {
		return nil
	}
	return fmt.Errorf("run %s %w since %s", strconv.Quote(run), ErrRunPinned, day(f.PinnedNs))
}

func union(a, b []string) []string {
	all := slices.Concat(a, b)
	slices.Sort(all)
	return slices.Compact(all)
}
