package pipelines_test

import (
	"errors"
	"testing"

	"github.com/tensortap/tensortap/pipelines"
)

func TestARankIsRecordedLiveOrReadFromFiles(t *testing.T) {
	t.Parallel()
	s := startStream(t)
	must(t, pipelines.Prepare(t.Context(), s.js, testConfig(t)))
	claims := openClaims(t, s)
	claim := func(run uint64, rank, step uint32) error {
		_, err := claims.Make(t.Context(), pipelines.ClaimRequest{RunID: run, Rank: rank, Step: step, Content: 1})
		return err
	}
	admit := func(run uint64, rank uint32) error {
		_, err := pipelines.Admit(t.Context(), s.js, pipelines.StartRequest{RunID: run, Rank: rank, Epoch: 1})
		return err
	}
	must(t, claim(1, 2, 0))
	must(t, claim(1, 2, 1))
	must(t, claim(1, 12, 0))
	must(t, admit(1, 1))
	must(t, admit(3, 2))
	if err := admit(1, 2); !errors.Is(err, pipelines.ErrRankTaken) {
		t.Errorf("a rank of files that starts: %v, want ErrRankTaken", err)
	}
	if err := claim(3, 2, 0); !errors.Is(err, pipelines.ErrRankTaken) {
		t.Errorf("files of a rank that was recorded live: %v, want ErrRankTaken", err)
	}
	for run, want := range map[uint64]int{1: 2, 3: 0, 4: 0} {
		if got, err := pipelines.RanksOfFiles(t.Context(), s.js, run); got != want || err != nil {
			t.Errorf("run %d has %d ranks of files, %v; want %d", run, got, err, want)
		}
	}
}
