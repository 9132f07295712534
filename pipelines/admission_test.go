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

func TestProcessesOfOneLaunchHaveRanksOfTheirOwn(t *testing.T) {
	t.Parallel()
	s := startStream(t)
	must(t, pipelines.Prepare(t.Context(), s.js, testConfig(t)))
	request := func(epoch uint64, launch string, apart bool) pipelines.StartRequest {
		return pipelines.StartRequest{RunID: schemas.RunID("run"), Rank: 1, Epoch: epoch, Launch: launch, World: 4, Apart: apart}
	}
	finish := func(rank uint32, epoch uint64, ended bool) {
		must(t, pipelines.FinishStart(t.Context(), s.js, pipelines.StartRequest{RunID: schemas.RunID("run"), Rank: rank, Epoch: epoch}, ended, 0))
	}
	want := func(what string, r pipelines.StartRequest, rank, generation uint32, refused bool) {
		t.Helper()
		got, err := pipelines.Admit(t.Context(), s.js, r)
		if errors.Is(err, pipelines.ErrRankTaken) != refused || err == nil && got != (pipelines.Admission{Rank: rank, Generation: generation}) {
			t.Errorf("%s: %+v, %v; want rank %d, generation %d, refused %v", what, got, err, rank, generation, refused)
		}
	}
	want("the first", request(1, "a", false), 1, 0, false)
	want("one that may take its place, while it lives", request(2, "a", false), 0, 0, true)
	want("a child", request(3, "a", true), 4, 0, false)
	want("another", request(4, "a", true), 5, 0, false)
	want("the child again", request(3, "a", true), 4, 0, false)
	want("a child of another launch", request(5, "b", true), 0, 0, true)
	finish(1, 1, true)
	want("one after it, which is not the first again", request(6, "a", false), 6, 0, false)
	want("the same after it ended, by another launch", request(7, "b", false), 0, 0, true)
	finish(1, 1, false)
	want("a child after it died", request(8, "a", true), 7, 0, false)
	want("its place taken after it died", request(9, "a", false), 1, 1, false)
	want("the child, as the rank lives again", request(3, "a", true), 4, 0, false)

	early := func(epoch uint64, apart bool) pipelines.StartRequest {
		return pipelines.StartRequest{RunID: schemas.RunID("run"), Rank: 20, Epoch: epoch, Launch: "a", World: 4, Apart: apart}
	}
	want("a child that is served before its parent", early(20, true), 20, 0, false)
	finish(20, 20, false)
	want("its parent, which does not take the child's place", early(21, false), 8, 0, false)
}
