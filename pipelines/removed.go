package pipelines

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/tensortap/tensortap/schemas"
)

// Purge is so many messages that were removed from a part of the stream with their run.
type Purge struct {
	MadeNs int64  `json:"stream_made_ns"` // when the stream was made: a new one has places of its own
	First  uint64 `json:"first"`
	Last   uint64 `json:"last"`
	Count  uint64 `json:"count"`
}

// mostPurges bounds how exactly it is noted where messages of a run were.
const mostPurges = 64

// RemovePart notes durably that a part of a run goes, as Delete does, and says whether that was not decided before.
func (f *Fates) RemovePart(ctx context.Context, run, part string, now time.Time) (decided bool, err error) {
	epochs, err := startEpochs(ctx, f.js, schemas.RunID(run))
	if err != nil {
		return false, err
	}
	_, err = f.change(ctx, schemas.RunID(run), func(fate *Fate) error {
		if err := fate.pinned(run); err != nil {
			return err
		}
		if decided = !fate.Deleted() && fate.Parts[part] == nil; !decided {
			return nil
		}
		if fate.Parts == nil {
			fate.Parts = map[string]*Part{}
		}
		fate.Name, fate.Epochs, fate.Parts[part], fate.By = run, union(fate.Epochs, epochs), &Part{RemovedNs: now.UnixNano()}, f.By
		return nil
	})
	return decided, err
}

// Left are those of the consumers whose stores may still have something of what goes.
func (g *Going) Left(consumers []string) []string {
	return slices.DeleteFunc(slices.Clone(consumers), func(name string) bool { return slices.Contains(g.RidOf, name) })
}

// Rid notes that the stores of these consumers have nothing any more of a deleted run or, if it is named, of a part that was
// removed. It is gone once that holds for all.
func (f *Fates) Rid(ctx context.Context, runID uint64, part string, these, all []string, now time.Time) error {
	return f.goOn(ctx, runID, part, func(g *Going) {
		g.RidOf = append(g.RidOf, g.Left(these)...)
		slices.Sort(g.RidOf)
		maps.DeleteFunc(g.Troubles, func(name, _ string) bool { return slices.Contains(these, name) })
		if g.GoneNs == 0 && len(g.Left(all)) == 0 {
			g.GoneNs, g.Troubles = now.UnixNano(), nil
		}
	})
}

// Stuck notes why the store of a consumer still has something of what goes.
func (f *Fates) Stuck(ctx context.Context, runID uint64, part, consumer string, why error) error {
	return f.goOn(ctx, runID, part, func(g *Going) {
		if g.Troubles == nil {
			g.Troubles = map[string]string{}
		}
		g.Troubles[consumer] = why.Error()
	})
}

// goOn notes how far a removal has come, unless the whole run goes since.
func (f *Fates) goOn(ctx context.Context, runID uint64, part string, how func(*Going)) error {
	_, err := f.change(ctx, runID, func(fate *Fate) error {
		if going := fate.Removal(part); going != nil {
			how(going)
		}
		return nil
	})
	return err
}

// Purged notes durably which messages of a deleted run, or of a part that was removed, are about to be removed from the stream that was made then and begins
// at first: else they would seem lost. Those that were noted before count once.
func (f *Fates) Purged(ctx context.Context, runID uint64, part string, madeNs int64, first uint64, places *schemas.BatchSet) error {
	return f.goOn(ctx, runID, part, func(g *Going) {
		kept := slices.DeleteFunc(g.Purged, func(p Purge) bool { return p.MadeNs != madeNs || p.Last < first })
		after := uint64(0)
		if n := len(kept); n > 0 {
			after = kept[n-1].Last
		}
		for span := range places.Spans() {
			if span.Last > after {
				from := max(span.First, after+1)
				kept = append(kept, Purge{madeNs, from, span.Last, span.Last - from + 1})
			}
		}
		g.Purged = fewer(kept)
	})
}

// fewer has neighbours stand together, so that there are not too many.
func fewer(purges []Purge) []Purge {
	var few []Purge
	for some := range slices.Chunk(purges, len(purges)/(mostPurges+1)+1) {
		all := some[0]
		for _, p := range some[1:] {
			all.Last, all.Count = p.Last, all.Count+p.Count
		}
		few = append(few, all)
	}
	return few
}

// Purges is what was removed with deleted runs from the stream that was made then.
func Purges(ctx context.Context, js jetstream.JetStream, madeNs int64) ([]Purge, error) {
	all, err := DecidedOf(ctx, js)
	var purges []Purge
	for _, fate := range all {
		purges = append(purges, fate.Purged...)
		for _, part := range fate.Parts {
			purges = append(purges, part.Purged...)
		}
	}
	return slices.DeleteFunc(purges, func(p Purge) bool { return p.MadeNs != madeNs }), err
}

// Unpurged counts those of the places without a message, in their order, that no removal accounts for.
func Unpurged(purges []Purge, gone []uint64) uint64 {
	slices.SortFunc(purges, func(a, b Purge) int { return cmp.Compare(a.First, b.First) })
	lost := uint64(0)
	for len(gone) > 0 && len(purges) > 0 {
		part := purges[0]
		for purges = purges[1:]; len(purges) > 0 && purges[0].First <= part.Last; purges = purges[1:] {
			part.Last, part.Count = max(part.Last, purges[0].Last), part.Count+purges[0].Count
		}
		before, _ := slices.BinarySearch(gone, part.First)
		within, _ := slices.BinarySearch(gone[before:], part.Last+1)
		lost += uint64(before)                                   //nolint:gosec // a count
		lost += uint64(within) - min(uint64(within), part.Count) //nolint:gosec // likewise
		gone = gone[before+within:]
	}
	return lost + uint64(len(gone))
}

// Storer is a consumer of the stream that outlives its processes.
type Storer struct {
	Name   string
	Served bool // a process asks for messages just now
}

// Storers are the consumers of the stream that outlive their processes.
func Storers(ctx context.Context, js jetstream.JetStream) ([]Storer, error) {
	stream, err := js.Stream(ctx, StreamName)
	if err != nil {
		return nil, fmt.Errorf("list who stores the stream: %w", err)
	}
	consumers, err := durableConsumers(ctx, stream)
	if err != nil {
		return nil, fmt.Errorf("list who stores the stream: %w", err)
	}
	all := make([]Storer, len(consumers))
	for i, info := range consumers {
		all[i] = Storer{Name: info.Name, Served: info.NumWaiting > 0}
	}
	slices.SortFunc(all, func(a, b Storer) int { return strings.Compare(a.Name, b.Name) })
	return all, nil
}
