package rows

import "testing"

func TestWindowsHoldNoMoreThanTheyMayUnlessOneStepDoes(t *testing.T) {
	t.Parallel()
	weight := map[uint32]uint64{0: mostWindowRows / 2, 1: mostWindowRows / 2, 2: 1, 3: 2 * mostWindowRows, 4: 0}
	var all []uint32
	for step := range uint32(len(weight)) {
		all = append(all, step)
	}
	got := Windows(all, func(step uint32) uint64 { return weight[step] })
	want := [][]uint32{{0, 1}, {2}, {3}, {4}}
	if len(got) != len(want) {
		t.Fatalf("windows = %v, want %v", got, want)
	}
	for i := range want {
		if len(got[i]) != len(want[i]) || got[i][0] != want[i][0] {
			t.Errorf("windows = %v, want %v", got, want)
		}
	}
	if empty := Windows[uint32](nil, nil); len(empty) != 0 {
		t.Errorf("windows of no steps = %v, want none", empty)
	}
}
