package align

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// longest is the length of a longest common subsequence, by the table of all prefixes.
func longest(a, b []uint32) int {
	above := make([]int, len(b)+1)
	for _, v := range a {
		row := make([]int, len(b)+1)
		for j, w := range b {
			row[j+1] = max(row[j], above[j+1])
			if v == w {
				row[j+1] = above[j] + 1
			}
		}
		above = row
	}
	return above[len(b)]
}

// checkSubsequence reports faults of the matches, and counts them.
func checkSubsequence(t *testing.T, a, b []uint32, matched []int32) int {
	t.Helper()
	if len(matched) != len(a) {
		t.Fatalf("commonSubsequence(%v, %v) has %d entries, want %d", a, b, len(matched), len(a))
	}
	last, count := int32(none), 0
	for i, j := range matched {
		if j == none {
			continue
		}
		if j <= last || int(j) >= len(b) || a[i] != b[j] {
			t.Fatalf("commonSubsequence matches %d with %d after %d: out of order, or not equal", i, j, last)
		}
		last = j
		count++
	}
	return count
}

func randomList(random *rand.Rand, length, letters int) []uint32 {
	list := make([]uint32, random.IntN(length+1))
	for i := range list {
		list[i] = random.Uint32N(uint32(letters))
	}
	return list
}

func TestCommonSubsequenceIsALongestOne(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		letters := 1 + random.IntN(6)
		a, b := randomList(random, 24, letters), randomList(random, 24, letters)
		if got, want := checkSubsequence(t, a, b, commonSubsequence(a, b)), longest(a, b); got != want {
			t.Fatalf("commonSubsequence(%v, %v) has %d matches, want %d", a, b, got, want)
		}
	}
}

func TestCommonSubsequenceOfLongListsIsALongestOneUpToTheLimit(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(3, 4))
	for range 20 {
		a := make([]uint32, 3000)
		for i := range a {
			a[i] = random.Uint32N(8)
		}
		b := slices.Clone(a)
		for range costLimit - 10 { // each at most one gone and one come
			at := random.IntN(len(b))
			b = slices.Replace(b, at, at+1, randomList(random, 1, 8)...)
		}
		if got, want := checkSubsequence(t, a, b, commonSubsequence(a, b)), longest(a, b); got != want {
			t.Errorf("%d matches of %d and %d, want %d", got, len(a), len(b), want)
		}
	}
}

func TestCommonSubsequenceBeyondTheLimitIsStillGood(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(5, 6))
	a, b := make([]uint32, 6000), make([]uint32, 6000)
	for i := range a {
		a[i], b[i] = random.Uint32N(50), random.Uint32N(50)
	}
	got, want := checkSubsequence(t, a, b, commonSubsequence(a, b)), longest(a, b)
	if got < want*3/4 {
		t.Errorf("%d matches of two lists that have nothing to do with each other, the most is %d", got, want)
	}
}

func TestSettleChangesNoCountAndFitsNoWorse(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(7, 8))
	for range 5_000 {
		a, b := randomList(random, 30, 2), randomList(random, 30, 2)
		matched := commonSubsequence(a, b)
		count, fitted := checkSubsequence(t, a, b, matched), fit(matched)
		settle(a, b, matched, sameID(func(i, j int32) bool { return i == j }))
		if after := checkSubsequence(t, a, b, matched); after != count || fit(matched) < fitted {
			t.Fatalf("settle(%v, %v): %d matches, had %d; fit %d, had %d", a, b, after, count, fit(matched), fitted)
		}
	}
}

// fit counts neighbours paired with neighbours, twice, and equal positions, which stand for ids.
func fit(matched []int32) int {
	fit := 0
	for i, j := range matched {
		if j == none {
			continue
		}
		if int32(i) == j {
			fit++
		}
		if i+1 < len(matched) && matched[i+1] == j+1 {
			fit += 2
		}
	}
	return fit
}

func TestSettlePrefersNeighbours(t *testing.T) {
	t.Parallel()
	// The first 1 of the problem has the id, the second stands before the same 3.
	problem, bench := []uint32{9, 1, 5, 1, 3}, []uint32{9, 7, 1, 3}
	matched := []int32{0, 2, none, none, 3}
	settle(problem, bench, matched, sameID(func(i, j int32) bool { return i == 1 && j == 2 }))
	if want := []int32{0, none, none, 2, 3}; !slices.Equal(matched, want) {
		t.Errorf("settle gives %v, want %v", matched, want)
	}
}

func TestSettlePrefersTheSameID(t *testing.T) {
	t.Parallel()
	problem, bench := []uint32{2, 1, 1, 3}, []uint32{2, 1, 3}
	matched := []int32{0, 1, none, 2} // as it may come
	settle(problem, bench, matched, sameID(func(i, j int32) bool { return i == j+1 }))
	if want := []int32{0, none, 1, 2}; !slices.Equal(matched, want) {
		t.Errorf("settle gives %v, want %v", matched, want)
	}
}

func FuzzCommonSubsequence(f *testing.F) {
	f.Add([]byte("abcabba"), []byte("cbabac"))
	f.Add([]byte(""), []byte("x"))
	f.Add([]byte("aaaaaaaa"), []byte("aaa"))
	f.Fuzz(func(t *testing.T, left, right []byte) {
		a, b := letters(left), letters(right)
		if got, want := checkSubsequence(t, a, b, commonSubsequence(a, b)), longest(a, b); got != want {
			t.Errorf("commonSubsequence(%v, %v) has %d matches, want %d", a, b, got, want)
		}
	})
}

func letters(text []byte) []uint32 {
	list := make([]uint32, 0, len(text))
	for _, c := range text[:min(len(text), 300)] {
		list = append(list, uint32(c))
	}
	return list
}

// sameID is a likeness of ids alone.
func sameID(same func(i, j int32) bool) likeness {
	return func(i, j int32) int {
		if same(i, j) {
			return likeID
		}
		return 0
	}
}
