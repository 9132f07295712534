package pipelines_test

import (
	"errors"
	"testing"
	"time"

	"github.com/tensortap/tensortap/pipelines"
	"github.com/tensortap/tensortap/schemas"
)

func TestWhatIsGoneWithoutARemovalIsLost(t *testing.T) {
	t.Parallel()
	purges := []pipelines.Purge{{First: 40, Last: 60, Count: 2}, {First: 10, Last: 20, Count: 3}, {First: 15, Last: 30, Count: 2}}
	for _, of := range []struct {
		gone []uint64
		want uint64
	}{
		{nil, 0},
		{[]uint64{10, 15, 20, 25, 30}, 0},
		{[]uint64{5, 10, 15, 20, 25, 29, 30}, 2},
		{[]uint64{41, 59}, 0},
		{[]uint64{41, 42, 59, 61}, 2},
		{[]uint64{30}, 0},
	} {
		if lost := pipelines.Unpurged(purges, of.gone); lost != of.want {
			t.Errorf("of %v, %d are lost, want %d", of.gone, lost, of.want)
		}
	}
	if lost := pipelines.Unpurged(nil, []uint64{1, 2}); lost != 2 {
		t.Errorf("without a removal %d are lost, want 2", lost)
	}
}

func TestARemovalThatIsRepeatedCountsOnceAndManyPlacesStandTogether(t *testing.T) {
	t.Parallel()
	s, cfg := startStream(t), testConfig(t)
	must(t, pipelines.Prepare(t.Context(), s.js, cfg))
	fates, err := pipelines.OpenFates(t.Context(), s.js)
	must(t, err)
	fate, err := fates.Delete(t.Context(), "bad", time.Unix(5, 0), false)
	must(t, err)
	id := schemas.RunID(fate.Name)
	var places schemas.BatchSet
	for place := uint64(2); place <= 2000; place += 2 {
		places.Add(place)
	}
	for range 2 {
		must(t, fates.Purged(t.Context(), id, "", 7, 1, &places))
	}
	places.Add(2001)
	places.Add(3000)
	must(t, fates.Purged(t.Context(), id, "", 7, 1, &places))
	purges, err := pipelines.Purges(t.Context(), s.js, 7)
	must(t, err)
	count := uint64(0)
	for _, p := range purges {
		count += p.Count
	}
	if count != 1002 || len(purges) > 65 {
		t.Errorf("%d places in %d parts, want 1002 in 65 at most", count, len(purges))
	}
	must(t, fates.Purged(t.Context(), id, "", 7, 2500, &schemas.BatchSet{}))
	if purges, err = pipelines.Purges(t.Context(), s.js, 7); err != nil || purges[0].Last < 2500 {
		t.Errorf("%v is older than the stream; %v", purges[0], err)
	}
	must(t, fates.Rid(t.Context(), id, "", []string{"a"}, []string{"a", "b"}, time.Unix(6, 0)))
	must(t, fates.Stuck(t.Context(), id, "", "b", errStuck))
	if fate, err = fates.Of(t.Context(), id); err != nil || fate.GoneNs != 0 || fate.Troubles["b"] == "" {
		t.Errorf("with one of two stores left: %+v, %v", fate, err)
	}
	must(t, fates.Rid(t.Context(), id, "", []string{"b"}, []string{"a", "b"}, time.Unix(7, 0)))
	if fate, err = fates.Of(t.Context(), id); err != nil || fate.GoneNs != 7e9 || len(fate.Troubles) > 0 {
		t.Errorf("with no store left: %+v, %v", fate, err)
	}
}

var errStuck = errors.New("no room")
