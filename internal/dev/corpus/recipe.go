package corpus

import (
	"fmt"
	"iter"
)

// recipe says how a case is made out of a recorded run.
type recipe struct {
	id, what string
	base     string // the recorded run that is the bench
	steps    []int  // of it; all when empty
	mode     string // statistics when empty
	harmless bool
	hidden   string
	small    bool // hidden by the tolerance
	make     func(m *making)
}

// Cases makes all cases of recorded dumps one after the other, recorded pairs first. Their runs are large: a reader keeps
// only what it needs.
func (l *Library) Cases() iter.Seq2[Case, error] {
	return func(yield func(Case, error) bool) {
		for _, p := range pairs() {
			if c, err := l.recorded(p); !yield(c, err) || err != nil {
				return
			}
		}
		for _, r := range recipes() {
			if c, err := l.prepare(r); !yield(c, err) || err != nil {
				return
			}
		}
	}
}

func recipes() []recipe {
	var all []recipe
	for _, some := range [][]recipe{
		valueFaults(), shapeFaults(), literalFaults(), gradientFaults(), notFiniteFaults(), programFaults(), renamingFaults(),
		rankFaults(), lostFaults(), checksumFaults(), harmless(),
	} {
		all = append(all, some...)
	}
	return all
}

func (l *Library) prepare(r recipe) (Case, error) {
	bench, err := l.base(r.base, r.steps...)
	if err != nil {
		return Case{}, fmt.Errorf("make case %s: %w", r.id, err)
	}
	m := making{error: 0.05}
	m.Case = Case{
		ID: r.id, What: r.what, Mode: r.mode, Harmless: r.harmless, Hidden: r.hidden, Small: r.small, Bench: bench,
		Problem: Side{Name: "corpus " + r.id, Run: bench.Run.Clone()},
	}
	if m.Mode == "" {
		m.Mode = "statistics"
	}
	r.make(&m)
	if r.hidden != "" {
		m.Origin = Origin{}
	}
	return m.Case, nil
}

// Recorded runs that cases are made of.
const (
	llama  = "B00_golden_mix"
	llamaA = "B00_golden_L1"
	llamaM = "B00_golden_L0"
	sums   = "B00_golden_md5"
	shards = "D_tp_golden"
	copies = "D_ddp_golden"
)
