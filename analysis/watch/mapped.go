package watch

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/tensortap/tensortap/analysis/compare"
	"github.com/tensortap/tensortap/analysis/judge"
	"github.com/tensortap/tensortap/analysis/mapping/families"
	"github.com/tensortap/tensortap/analysis/pair"
	"github.com/tensortap/tensortap/analysis/report"
	"github.com/tensortap/tensortap/analysis/result"
	"github.com/tensortap/tensortap/analysis/rows"
	"github.com/tensortap/tensortap/analysis/rows/store"
	"github.com/tensortap/tensortap/internal/steps"
)

// chooseMap takes the map that ships for these runs, once their programs say that they are two implementations of a model.
func (r *referee) chooseMap(definitions *rows.Definitions) error {
	if r.request.Map != nil || !r.request.ChooseMap {
		return nil
	}
	problem, bench := r.runs()
	chosen, err := families.Choose(problem, bench, definitions)
	r.request.Map = chosen
	return err
}

// byName says whether ids in the same order name the same calls, whatever the programs turn out to be.
func (r *referee) byName() bool {
	problem, bench := r.runs()
	return !r.request.ChooseMap || problem.Described.Engine == bench.Described.Engine
}

// judgeMapped judges steps as a comparison does under the map. It leaves steps for later whose definitions are not all there.
func (w *watch) judgeMapped(ctx context.Context, list []*step) ([]*step, error) {
	if err := w.sayMap(); err != nil {
		return nil, err
	}
	read, err := w.referee.read(ctx, allPlaces(list))
	if err != nil {
		return nil, err
	}
	definitions := w.database.Source.Definitions()
	ready := slices.DeleteFunc(slices.Clone(list), func(s *step) bool {
		return w.asked.Sub(s.changed) < w.r.Idle && !read.defined(s, definitions)
	})
	if len(ready) == 0 {
		return nil, nil
	}
	differ, err := w.referee.judgeMapped(ctx, ready, read)
	if err != nil {
		return nil, err
	}
	w.referee.dropWhole(ready)
	return ready, w.divergeFirst(differ)
}

// sayMap reports, once, that the runs pair by a map.
func (w *watch) sayMap() error {
	if w.mapped {
		return nil
	}
	w.mapped = true
	by := w.referee.request.Map
	return w.tell(&report.WatchEvent{Event: "mapped", For: cmp.Or(by.Name, by.File)})
}

func allPlaces(list []*step) []*place {
	var places []*place
	for _, s := range list {
		places = append(places, s.sorted()...)
	}
	return places
}

// defined says whether the definitions of all tensors of a step are known.
func (t tensors) defined(s *step, definitions *rows.Definitions) bool {
	for _, p := range s.sorted() {
		for i, at := range []rows.Place{problemPlace(p.at), benchPlace(p.at)} {
			if !defined(t[i][at], definitions) {
				return false
			}
		}
	}
	return true
}

func defined(of *rows.Tensors, definitions *rows.Definitions) bool {
	for i := range of.Len() {
		site, known := definitions.Sites[of.SiteID[i]]
		if !known || definitions.Ops[site.OpID] == nil || definitions.Layouts[of.LayoutID[i]] == nil {
			return false
		}
	}
	return true
}

// judgeMapped judges steps by a comparison of the runs as they stand. It gives the first difference at each place.
func (r *referee) judgeMapped(ctx context.Context, list []*step, read tensors) ([]*found, error) {
	request, byNumber := r.request, map[uint32]*step{}
	var numbers []int64
	for _, s := range list {
		s.mapped = []result.StepSummary{}
		byNumber[stepNumber(s.number)] = s
		numbers = append(numbers, s.number)
	}
	request.Steps = steps.Of(numbers)
	job, err := compare.Open(ctx, r.standing(list, read), request)
	if err != nil {
		return nil, err
	}
	problem, bench := job.Runs()
	in, collected := sight{problem, bench, job.Definitions()}, job.Collector()
	var mutex sync.Mutex
	var differ []*found
	err = job.Judge(ctx, job.Steps(), func(at pair.Step, judged []judge.Judged) error {
		placed := collected.Count(at, judged)
		mutex.Lock()
		defer mutex.Unlock()
		s := byNumber[at.Step]
		s.mapped = append(s.mapped, placed.Summary())
		if first := placed.First(); first != nil {
			differ = append(differ, &found{s.placeOf(at), first, in})
		}
		return nil
	})
	return differ, err
}

// placeOf is the place that a comparison has judged, as far as both ranks were with it.
func (s *step) placeOf(at pair.Step) *place {
	p := &place{at: at}
	if known := s.places[at.Rank]; known != nil {
		p.standing = known.standing
	}
	return p
}

// dropWhole drops the tensors of steps that are unlikely to be judged again.
func (r *referee) dropWhole(list []*step) {
	for _, p := range allPlaces(list) {
		if lacks(p.standing[0]) == "" && lacks(p.standing[1]) == "" {
			r.shelves[0].drop(problemPlace(p.at))
			r.shelves[1].drop(benchPlace(p.at))
		}
	}
}

// standing is both runs as they stand, for a comparison of some of their steps.
func (r *referee) standing(list []*step, read tensors) *standing {
	of := &standing{Source: r.database.Source, runs: map[string]*rows.Run{}, read: map[string]map[rows.Place]*rows.Tensors{}}
	for i, followed := range r.follower.Runs() {
		run := *followed.Run
		run.Missing = missing(i, list)
		of.runs[run.Name] = &run
		if of.read[run.Name] == nil {
			of.read[run.Name] = map[rows.Place]*rows.Tensors{}
		}
		maps.Copy(of.read[run.Name], read[i])
	}
	return of
}

// missing says of each rank of a side whether it lacks anything of steps.
func missing(side int, list []*step) []rows.Completeness {
	all := map[uint32]bool{}
	for _, s := range list {
		for rank, standing := range s.sides[side] {
			all[rank] = all[rank] || lacks(standing) != ""
		}
	}
	var said []rows.Completeness
	for _, rank := range slices.Sorted(maps.Keys(all)) {
		said = append(said, rows.Completeness{Rank: rank, Complete: !all[rank]})
	}
	return said
}

// standing gives two runs as they stand, and what was read of them; the rest is the store's.
type standing struct {
	*store.Source

	runs map[string]*rows.Run
	read map[string]map[rows.Place]*rows.Tensors
}

// Run is the run as it stands.
func (s *standing) Run(ctx context.Context, name string) (*rows.Run, error) {
	if run := s.runs[name]; run != nil {
		return run, nil
	}
	return s.Source.Run(ctx, name)
}

// Tensors are those that were read, with others of the store.
func (s *standing) Tensors(ctx context.Context, run *rows.Run, places []rows.Place) (map[rows.Place]*rows.Tensors, error) {
	read := s.read[run.Name]
	if run.AllStatistics {
		read = nil // they lack some
	}
	found, left := map[rows.Place]*rows.Tensors{}, []rows.Place(nil)
	for _, at := range places {
		if t := read[at]; t != nil {
			found[at] = t
		} else {
			left = append(left, at)
		}
	}
	if len(left) == 0 {
		return found, nil
	}
	more, err := s.Source.Tensors(ctx, run, left)
	maps.Copy(found, more)
	return found, err
}
