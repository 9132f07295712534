package result_test

import (
	"slices"
	"sync"
	"testing"

	"github.com/tensortap/tensortap/analysis/internal/cases"
	"github.com/tensortap/tensortap/analysis/judge"
	"github.com/tensortap/tensortap/analysis/result"
)

func TestPlacesMayComeInAnyOrderAndAtTheSameTime(t *testing.T) {
	t.Parallel()
	m := newModel()
	m.ops("linear", "", "")
	const ranks, steps = 3, 40
	var places [][]judge.Judged
	for i := range ranks * steps {
		places = append(places, []judge.Judged{m.both("linear", "input", "0", 1, 0), m.both("linear", "output", "0", 2, 1e-8*float64(1+i*i)), m.ofProblem("gelu", 3)})
	}
	collect := func(place func(i int, collect func(i int))) result.Result {
		options := result.DefaultOptions()
		options.Limit, options.UnpairedLimit = 7, 5
		collected := result.New(options, m.problem, m.bench, m.definitions)
		for i := range places {
			place(i, func(i int) {
				at := m.at(uint32(i / ranks))
				at.Rank, at.BenchRank = uint32(i%ranks), uint32(i%ranks)
				collected.Place(at, slices.Clone(places[i]))
			})
		}
		return collected.Finish(result.Finishing{})
	}
	want := collect(func(i int, collect func(int)) { collect(i) })
	var group sync.WaitGroup
	got := collect(func(i int, collect func(int)) {
		group.Go(func() { collect(len(places) - 1 - i) })
		if i == len(places)-1 {
			group.Wait()
		}
	})
	for _, report := range append(reports(), "jump") {
		a, _ := got.Table(report)
		b, _ := want.Table(report)
		if cases.TextOf(a).Text() != cases.TextOf(b).Text() || a.NumRows() == 0 && report != "jump" {
			t.Errorf("report %s depends on the order of places:\n%s\nin order\n%s", report, cases.TextOf(a).Text(), cases.TextOf(b).Text())
		}
	}
}
