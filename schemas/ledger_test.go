package schemas

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestLedgerIsASetOfBatches(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(3, 4))
	l := NewLedger()
	want := map[uint64]bool{}
	for range 3000 {
		first := random.Uint64N(200)
		s := Batches{Kind: "tensor", First: first, Last: first + random.Uint64N(6)}
		add := random.IntN(3) > 0
		if add {
			l.Add(s)
		} else {
			l.Remove(s)
		}
		for b := s.First; b <= s.Last; b++ {
			want[b] = add
		}
		for b := range uint64(210) {
			if got := l.Has(Batches{Kind: "tensor", First: b, Last: b}); got != want[b] {
				t.Fatalf("Has(%d) = %t after %+v, want %t", b, got, s, want[b])
			}
		}
		for _, hole := range l.Lacks(Batches{Kind: "tensor", Last: 209}) {
			if want[hole.First] || want[hole.Last] {
				t.Fatalf("Lacks() names %+v, which is there", hole)
			}
		}
	}
}

func TestLedgerHoldsTheLastBatchOfAll(t *testing.T) {
	t.Parallel()
	l := NewLedger()
	last := Batches{Kind: "step", First: math.MaxUint64, Last: math.MaxUint64}
	l.Add(last)
	l.Add(Batches{Kind: "step", First: 0, Last: 0})
	l.Add(last)
	if !l.Has(last) || l.Has(Batches{Kind: "step", First: 1, Last: 1}) {
		t.Errorf("sets are %v, want the first batch and the last", l.sets)
	}
}
