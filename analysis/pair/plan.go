package pair

import (
	"cmp"
	"math/bits"
	"slices"

	"github.com/tensortap/tensortap/analysis/rows"
)

// Match is a row of the problem's tensors beside one of the bench's; -1 where there is none.
type Match struct{ Problem, Bench int32 }

// none stands for no row where an index is wanted.
const none = -1

// Plan pairs the rows of the problem's tensors of a step with rows of the bench's. Steps with the same sites, in the
// same order, have the same plan.
type Plan struct {
	problem, bench keys
	partners       []int32 // of each row of the problem
	alone          []int32 // rows of the bench without partner
	matches        []Match // where no row of the bench is alone
}

// keys are the columns that rows are paired by; a micro step that is nil is 0 in every row.
type keys struct {
	sites  []uint64
	micros []uint16
}

// Build pairs the rows of two steps by site and micro step. A site of the bench that moved has the name that moved gives
// it, or stands alone if that is Nobody. Where a side has a site several times in a micro step, the first pairs with the
// first, the second with the second, and so on.
func Build(problem, bench *rows.Tensors, moved map[uint64]uint64) *Plan {
	p := &Plan{problem: keysOf(problem), bench: keysOf(bench), partners: make([]int32, problem.Len())}
	names := p.bench
	if len(moved) > 0 {
		names.sites = renamed(names.sites, moved)
	}
	if p.problem.equal(names) {
		p.pairInPlace()
		return p
	}
	p.join(names)
	if len(p.alone) == 0 {
		p.matches = p.merge(problem, bench)
	}
	return p
}

func keysOf(t *rows.Tensors) keys {
	if t == nil {
		return keys{}
	}
	k := keys{sites: slices.Clone(t.SiteID)}
	if slices.ContainsFunc(t.MicroStep, func(micro uint16) bool { return micro != 0 }) {
		k.micros = slices.Clone(t.MicroStep)
	}
	return k
}

func renamed(sites []uint64, moved map[uint64]uint64) []uint64 {
	names := slices.Clone(sites)
	for i, site := range sites {
		if name, ok := moved[site]; ok {
			names[i] = name
		}
	}
	return names
}

func (k keys) equal(other keys) bool {
	return slices.Equal(k.sites, other.sites) && slices.Equal(k.micros, other.micros)
}

// fits says whether the tensors have these keys, whether or not their column of micro steps is there.
func (k keys) fits(t *rows.Tensors) bool {
	if t == nil {
		return len(k.sites) == 0
	}
	if !slices.Equal(k.sites, t.SiteID) {
		return false
	}
	if k.micros == nil {
		return !slices.ContainsFunc(t.MicroStep, func(micro uint16) bool { return micro != 0 })
	}
	return slices.Equal(k.micros, t.MicroStep)
}

func (k keys) same(i int, other keys, j int) bool {
	return k.sites[i] == other.sites[j] && value(k.micros, i) == value(other.micros, j)
}

// hash spreads sites, which may be small numbers, over all bits.
func (k keys) hash(i int) uint64 {
	const golden, pi = 0x9E3779B97F4A7C15, 0x243F6A8885A308D3
	high, low := bits.Mul64(k.sites[i]^pi^uint64(value(k.micros, i))<<48, golden)
	return (high ^ low) * golden
}

// pairInPlace pairs each row with the same row.
func (p *Plan) pairInPlace() {
	p.matches = make([]Match, len(p.partners))
	for i := range p.partners {
		at := int32(i) //nolint:gosec // an index
		p.partners[i], p.matches[i] = at, Match{at, at}
	}
}

// join finds the partner of each row by a table of the bench's keys. Rows of one key are a chain, in their order.
func (p *Plan) join(names keys) {
	table := newKeyTable(names)
	taken := make([]bool, len(names.sites))
	for i := range p.partners {
		partner := table.take(p.problem, i)
		p.partners[i] = partner
		if partner != none {
			taken[partner] = true
		}
	}
	for i := range taken {
		if !taken[i] {
			p.alone = append(p.alone, int32(i)) //nolint:gosec // an index
		}
	}
}

// keyTable finds rows by key, each once: a table of open addresses.
type keyTable struct {
	keys  keys
	slots []slot
	next  []int32 // the following row of the same key
	shift int
}

// slot holds the rows of one key.
type slot struct {
	row   int32 // any of them, plus 1; 0 where the slot is free
	first int32 // the first that was not taken yet
}

func newKeyTable(k keys) *keyTable {
	width := bits.Len(uint(2 * len(k.sites)))
	t := &keyTable{keys: k, slots: make([]slot, 1<<width), next: make([]int32, len(k.sites)), shift: 64 - width}
	for i := len(k.sites) - 1; i >= 0; i-- {
		if k.sites[i] == Nobody {
			continue
		}
		s := t.find(k, i)
		t.next[i] = none
		if s.row != 0 {
			t.next[i] = s.first
		}
		s.row, s.first = int32(i)+1, int32(i) //nolint:gosec // an index
	}
	return t
}

// find is the slot of a key, or the free one where it would be.
func (t *keyTable) find(k keys, i int) *slot {
	for at := k.hash(i) >> t.shift; ; at = (at + 1) & uint64(len(t.slots)-1) {
		s := &t.slots[at]
		if s.row == 0 || t.keys.same(int(s.row)-1, k, i) {
			return s
		}
	}
}

// take is the first row of a key that was not taken.
func (t *keyTable) take(k keys, i int) int32 {
	s := t.find(k, i)
	if s.row == 0 || s.first == none {
		return none
	}
	row := s.first
	s.first = t.next[row]
	return row
}

// Fits says whether the plan also fits these tensors of the same programs.
func (p *Plan) Fits(problem, bench *rows.Tensors) bool {
	return p.problem.fits(problem) && p.bench.fits(bench)
}

// Len is the number of matches.
func (p *Plan) Len() int { return len(p.partners) + len(p.alone) }

// Matches are the rows beside each other, in execution order: the problem's, and between them those that only the bench
// has, by their own seq. The plan must fit the tensors. The caller does not write to them.
func (p *Plan) Matches(problem, bench *rows.Tensors) []Match {
	if p.matches != nil {
		return p.matches
	}
	return p.merge(problem, bench)
}

func (p *Plan) merge(problem, bench *rows.Tensors) []Match {
	matches := make([]Match, 0, p.Len())
	alone := p.alone
	for i, partner := range p.partners {
		for len(alone) > 0 && before(bench, int(alone[0]), problem, i) {
			matches, alone = append(matches, Match{none, alone[0]}), alone[1:]
		}
		matches = append(matches, Match{int32(i), partner}) //nolint:gosec // an index
	}
	for _, row := range alone {
		matches = append(matches, Match{none, row})
	}
	return matches
}

// before says whether a row of the bench stands before one of the problem: by seq, then micro step, then site.
func before(bench *rows.Tensors, i int, problem *rows.Tensors, j int) bool {
	return cmp.Or(
		cmp.Compare(value(bench.Seq, i), value(problem.Seq, j)),
		cmp.Compare(value(bench.MicroStep, i), value(problem.MicroStep, j)),
		cmp.Compare(bench.SiteID[i], problem.SiteID[j]),
	) < 0
}
