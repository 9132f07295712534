package msprobeoverflow_test

import (
	"slices"
	"testing"

	"github.com/tensortap/tensortap/analysis/msprobe/msprobeoverflow"
)

// step is one rank's ops in short: a name, and what of it is not finite.
type step struct {
	name    string
	in, out bool
}

func ops(ranks ...[]step) []msprobeoverflow.Op {
	var all []msprobeoverflow.Op
	for rank, steps := range ranks {
		for _, s := range steps {
			all = append(all, msprobeoverflow.Op{Rank: uint32(rank), Name: s.name, InputBad: s.in, OutputBad: s.out})
		}
	}
	return all
}

func TestFindNamesWhatMsprobeNames(t *testing.T) {
	t.Parallel()
	const first, second = "Distributed.all_reduce.0.forward", "Distributed.all_reduce.1.forward"
	clean := []step{{"Torch.matmul.0.forward", false, false}, {first, false, false}, {second, false, false}}
	for _, c := range []struct {
		name string
		ops  []msprobeoverflow.Op
		want []msprobeoverflow.Origin
	}{
		{"nothing", ops(clean, clean), nil},
		{"no ops", nil, nil},
		{
			"before the first call", ops(clean, []step{{"Torch.matmul.0.forward", false, true}, {"Torch.exp.0.forward", true, true}, {first, true, true}}),
			[]msprobeoverflow.Origin{{Rank: 1, Op: "Torch.matmul.0.forward"}},
		},
		{
			"before the first call of two ranks", ops([]step{{"Torch.a.0.forward", false, true}}, []step{{"Torch.b.0.forward", false, true}}),
			[]msprobeoverflow.Origin{{Rank: 0, Op: "Torch.a.0.forward"}, {Rank: 1, Op: "Torch.b.0.forward"}},
		},
		{
			"between two calls", ops([]step{{first, false, false}, {second, false, true}}, []step{{first, false, false}, {"Torch.exp.0.forward", false, true}, {second, true, true}}),
			[]msprobeoverflow.Origin{{Rank: 1, Op: "Torch.exp.0.forward"}},
		},
		{
			"after the last call", ops([]step{{first, false, false}}, []step{{first, false, false}, {"Functional.layer_norm.0.forward", false, true}, {"Torch.exp.0.forward", false, true}}),
			[]msprobeoverflow.Origin{{Rank: 1, Op: "Functional.layer_norm.0.forward"}},
		},
		{
			"a call itself, where what led there was nested and overlooked", ops([]step{{first, false, true}}, []step{{"Torch.chunk.0.forward", false, false}, {first, false, true}}),
			[]msprobeoverflow.Origin{{Rank: 0, Op: first}},
		},
		{"memory that nobody wrote", ops([]step{{"Torch.empty.0.forward", false, true}, {"Torch.fill_.0.forward", false, true}}), nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := msprobeoverflow.Find(c.ops); !slices.Equal(got, c.want) {
				t.Errorf("Find = %v, want %v", got, c.want)
			}
		})
	}
}

func TestPointToPointCallsLeadToTheSender(t *testing.T) {
	t.Parallel()
	one, zero := int64(1), int64(0)
	got := msprobeoverflow.Find([]msprobeoverflow.Op{
		{Rank: 0, Name: "Distributed.all_reduce.0.forward"},
		{Rank: 0, Name: "Torch.div.0.forward", OutputBad: true},
		{Rank: 0, Name: "Distributed.send.0.forward", InputBad: true, Destination: &one},
		{Rank: 1, Name: "Distributed.all_reduce.0.forward"},
		{Rank: 1, Name: "Distributed.recv.0.forward", OutputBad: true, Source: &zero},
		{Rank: 1, Name: "Torch.exp.0.forward", InputBad: true, OutputBad: true},
	})
	if want := (msprobeoverflow.Origin{Rank: 0, Op: "Torch.div.0.forward"}); len(got) != 1 || got[0] != want {
		t.Errorf("Find = %v, want %v", got, want)
	}
}
