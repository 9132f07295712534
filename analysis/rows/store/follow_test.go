package store_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/tensortap/tensortap/analysis/rows"
	"github.com/tensortap/tensortap/analysis/rows/store"
	"github.com/tensortap/tensortap/schemas"
)

// followedTexts are runs as a follower reads them.
func followedTexts(t *testing.T, f *store.Follower) []string {
	t.Helper()
	if _, err := f.Look(t.Context(), make([]uint32, len(f.Runs()))); err != nil {
		t.Fatal(err)
	}
	return texts(f.Runs(), func(r *store.Followed) string { return runText(r.Run) })
}

// runText is what both a run and one that is followed say.
func runText(run *rows.Run) string {
	steps := texts(run.Steps, func(s schemas.StepRow) string {
		return fmt.Sprint(s.Rank, s.Step, s.Epoch, s.Generation, s.TensorCount)
	})
	replaced := maps.Clone(run.Replaced)
	for at, epochs := range replaced {
		replaced[at] = slices.Sorted(slices.Values(epochs))
	}
	ranks := texts(run.Ranks, func(r schemas.RankRow) string { return fmt.Sprint(r.Rank, r.Epoch) })
	requests := texts(run.Requests, func(r schemas.RequestRow) string { return fmt.Sprint(r.Rank, r.Step, r.Seq, r.Epoch) })
	return fmt.Sprint(run.Name, run.Described.Source, ranks, steps, run.Open, requests, replaced, stackTexts(run.Stacks), run.MainDtype)
}

func TestARunThatGrowsIsFollowed(t *testing.T) {
	t.Parallel()
	d := startDatabase(t)
	source := store.Open(d.Conn)
	f := source.Follow("grows")
	look := func(want string) {
		t.Helper()
		run, err := store.Open(d.Conn).Run(t.Context(), "grows")
		if err != nil {
			t.Fatal(err)
		}
		if got := followedTexts(t, f)[0]; got != runText(run) {
			t.Errorf("%s: followed\n%s\nwant\n%s", want, got, runText(run))
		}
		if len(f.Runs()[0].TakeChanged()) == 0 {
			t.Errorf("%s: no place changed", want)
		}
		if err := defined(source.Definitions(), f.Runs()[0].Run); err != nil {
			t.Errorf("%s: %v", want, err)
		}
		if news, err := f.Look(t.Context(), []uint32{0}); err != nil || news || len(f.Runs()[0].TakeChanged()) > 0 {
			t.Errorf("%s: another look says %t, %v; want nothing new", want, news, err)
		}
	}
	d.publish(t, "A_llama_L0_md5", "grows", 1, 0)
	look("first published")
	d.publish(t, "B20_tensor_problem", "grows", 2, 1)
	look("replaced by other content")
	d.Insert(t, "tensor", "run_id\trank\tepoch\tstep\tseq\n(run grows)\t0\t9\t77\t1\n")
	look("a step without end")
}
