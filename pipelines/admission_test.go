package pipelines_test

import (
	"errors"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/tensortap/tensortap/pipelines"
	"github.com/tensortap/tensortap/schemas"
)

func admission(tb testing.TB) (admit func(run string, rank uint32, epoch uint64, resume bool) (uint32, error), finish func(run string, rank uint32, epoch uint64, ended bool)) {
	tb.Helper()
	s := startStream(tb)
	must(tb, pipelines.Prepare(tb.Context(), s.js, testConfig(tb)))
	admit = func(run string, rank uint32, epoch uint64, resume bool) (uint32, error) {
		place, err := pipelines.Admit(tb.Context(), s.js, pipelines.StartRequest{RunID: schemas.RunID(run), Rank: rank, Epoch: epoch, Resume: resume})
		return place.Generation, err
	}
	finish = func(run string, rank uint32, epoch uint64, ended bool) {
		must(tb, pipelines.FinishStart(tb.Context(), s.js, pipelines.StartRequest{RunID: schemas.RunID(run), Rank: rank, Epoch: epoch}, ended, 0))
	}
	return admit, finish
}

func TestARankIsStartedAgainOnlyWhenItDiedOrIsResumed(t *testing.T) {
	t.Parallel()
	admit, finish := admission(t)
	want := func(what string, rank uint32, epoch uint64, resume bool, generation uint32, refused bool) {
		t.Helper()
		got, err := admit("run", rank, epoch, resume)
		if got != generation && !refused || errors.Is(err, pipelines.ErrRankTaken) != refused || (err != nil) != refused {
			t.Errorf("%s: generation %d, %v; want %d, refused %v", what, got, err, generation, refused)
		}
	}
	want("first", 0, 1, false, 0, false)
	want("the same again", 0, 1, false, 0, false)
	want("another rank", 1, 2, false, 0, false)
	want("while it lives", 0, 3, true, 0, true)
	finish("run", 0, 1, false)
	want("after it died", 0, 3, false, 1, false)
	want("the first, which goes on being published", 0, 1, false, 0, false)
	finish("run", 0, 3, true)
	want("after it ended", 0, 4, false, 0, true)
	want("resumed", 0, 4, true, 2, false)
	want("resumed, again", 0, 4, false, 2, false)
	if g, err := admit("other run", 0, 9, false); g != 0 || err != nil {
		t.Errorf("another run: generation %d, %v", g, err)
	}
}

func TestOneOfSeveralStartsAtOnceIsAdmitted(t *testing.T) {
	t.Parallel()
	admit, _ := admission(t)
	var group errgroup.Group
	results := make([]error, 8)
	for i := range results {
		group.Go(func() error {
			_, results[i] = admit("run", 0, uint64(i)+1, false)
			return nil
		})
	}
	must(t, group.Wait())
	admitted := 0
	for _, err := range results {
		if err == nil {
			admitted++
		} else if !errors.Is(err, pipelines.ErrRankTaken) {
			t.Error(err)
		}
	}
	if admitted != 1 {
		t.Errorf("%d of %d are admitted, want one", admitted, len(results))
	}
}
