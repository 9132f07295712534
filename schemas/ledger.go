package schemas

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
)

// Batches are those from First to Last, both included, that one producer counted for one kind.
type Batches struct {
	Kind  string
	RunID uint64
	Rank  uint32
	Epoch uint64
	First uint64
	Last  uint64
}

// BatchOf is the batch of that kind and identity.
func BatchOf(kind string, id Identity) Batches {
	return Batches{Kind: kind, RunID: id.RunID, Rank: id.Rank, Epoch: id.Epoch, First: id.Batch, Last: id.Batch}
}

// String names the producer as message ids do, and the range.
func (b Batches) String() string {
	return fmt.Sprintf("%016x/%d/%016x/%s/%d-%d", b.RunID, b.Rank, b.Epoch, b.Kind, b.First, b.Last)
}

// Compare orders batches by kind, run, rank and epoch, and then by their first.
func (b Batches) Compare(other Batches) int {
	return cmp.Or(cmp.Compare(b.Kind, other.Kind), cmp.Compare(b.RunID, other.RunID), cmp.Compare(b.Rank, other.Rank),
		cmp.Compare(b.Epoch, other.Epoch), cmp.Compare(b.First, other.First))
}

// Count is how many batches there are.
func (b Batches) Count() uint64 { return b.Last - b.First + 1 }

func (b Batches) span() BatchSpan { return BatchSpan{b.First, b.Last} }

// with is the same producer's other batches.
func (b Batches) with(span BatchSpan) Batches {
	b.First, b.Last = span.First, span.Last
	return b
}

// Ledger is the set of batches that a store has. It is safe for use by several goroutines.
type Ledger struct {
	mu   sync.Mutex
	sets map[Batches]BatchSet // by producer: First and Last are 0
}

// NewLedger returns an empty ledger.
func NewLedger() *Ledger { return &Ledger{sets: make(map[Batches]BatchSet)} }

// Has says whether the first of the batches is in the set.
func (l *Ledger) Has(b Batches) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	set := l.sets[b.with(BatchSpan{})]
	return set.Holds(b.First)
}

// Add puts all of the batches into the set.
func (l *Ledger) Add(b Batches) { l.change(b, (*BatchSet).AddSpan) }

// Remove takes all of the batches out of the set.
func (l *Ledger) Remove(b Batches) { l.change(b, (*BatchSet).RemoveSpan) }

func (l *Ledger) change(b Batches, how func(*BatchSet, BatchSpan)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	set := l.sets[b.with(BatchSpan{})]
	how(&set, b.span())
	l.sets[b.with(BatchSpan{})] = set
}

// Lacks are those of the batches that are not in the set.
func (l *Ledger) Lacks(b Batches) []Batches {
	l.mu.Lock()
	defer l.mu.Unlock()
	set := l.sets[b.with(BatchSpan{})]
	var lacks []Batches
	for _, hole := range set.Lacks(b.span()) {
		lacks = append(lacks, b.with(hole))
	}
	return lacks
}

// All is the set in order, in as few ranges as it takes.
func (l *Ledger) All() []Batches {
	l.mu.Lock()
	defer l.mu.Unlock()
	var all []Batches
	for producer, set := range l.sets {
		for span := range set.Spans() {
			all = append(all, producer.with(span))
		}
	}
	slices.SortFunc(all, Batches.Compare)
	return all
}

// Kinds are those of which there are batches.
func (l *Ledger) Kinds() []string {
	var kinds []string
	for _, b := range l.All() {
		if len(kinds) == 0 || kinds[len(kinds)-1] != b.Kind {
			kinds = append(kinds, b.Kind)
		}
	}
	return kinds
}

// Clone is a set of its own of the same batches.
func (l *Ledger) Clone() *Ledger { return NewLedger().With(l.All()...) }

// With adds batches and returns the same set.
func (l *Ledger) With(batches ...Batches) *Ledger {
	for _, b := range batches {
		l.Add(b)
	}
	return l
}

// Without takes the batches of another set out of this one, and returns it.
func (l *Ledger) Without(other *Ledger) *Ledger {
	for _, b := range other.All() {
		l.Remove(b)
	}
	return l
}

// Count is how many batches there are.
func (l *Ledger) Count() uint64 {
	count := uint64(0)
	for _, b := range l.All() {
		count += b.Count()
	}
	return count
}

// LacksOf are the batches of another ledger that are not in this one, in order.
func (l *Ledger) LacksOf(other *Ledger) []Batches {
	var lacks []Batches
	for _, b := range other.All() {
		lacks = append(lacks, l.Lacks(b)...)
	}
	return lacks
}
