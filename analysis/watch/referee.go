package watch

import (
	"context"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/tensortap/tensortap/analysis/ask"
	"github.com/tensortap/tensortap/analysis/compare"
	"github.com/tensortap/tensortap/analysis/judge"
	"github.com/tensortap/tensortap/analysis/pair"
	"github.com/tensortap/tensortap/analysis/result"
	"github.com/tensortap/tensortap/analysis/rows"
	"github.com/tensortap/tensortap/analysis/rows/store"
)

// judges is the number of places judged at a time.
const judges = 2

// referee judges places of runs that grow.
type referee struct {
	request  compare.Request
	database *Database
	follower *store.Follower
	shelves  [2]*shelf
	refined  bool
	now      *judging
}

// judging has the rules for places until more definitions are known.
type judging struct {
	knowing
	rules     *judge.Rules
	collected *result.Collector
	pairing   *pairing
}

// knowing is the input of the rules.
type knowing struct {
	definitions *rows.Definitions
	mainDtypes  [2]string
	surveyed    uint64 // tensors of the bench, where the spread of several is the tolerance
}

func newReferee(request compare.Request, database *Database, follower *store.Follower) *referee {
	r := &referee{request: request, database: database, follower: follower}
	for i, run := range follower.Runs() {
		r.shelves[i] = newShelf(database.Source, run)
	}
	return r
}

func (r *referee) runs() (problem, bench *rows.Run) {
	return r.follower.Runs()[0].Run, r.follower.Runs()[1].Run
}

// current gives the rules by the present definitions.
func (r *referee) current(ctx context.Context) (*judging, error) {
	problem, bench := r.runs()
	known := knowing{definitions: r.database.Source.Definitions(), mainDtypes: [2]string{problem.MainDtype, bench.MainDtype}}
	if len(r.request.Benches) > 1 {
		known.surveyed = r.follower.Runs()[1].Surveyed
	}
	if r.now != nil && r.now.knowing == known {
		return r.now, nil
	}
	if err := r.chooseMap(known.definitions); err != nil {
		return nil, err
	}
	if err := r.refine(ctx, known); err != nil {
		return nil, err
	}
	rules, err := judge.New(r.request.Judge, problem, bench, known.definitions)
	if err != nil {
		return nil, ask.AsStored(err)
	}
	keep := r.request.Keep
	keep.Excused = func(site uint64) bool { return len(rules.Excused(site)) > 0 }
	r.now = &judging{
		knowing: known, rules: rules, collected: result.New(keep, problem, bench, known.definitions),
		pairing: newPairing(problem, bench, r.database.Source),
	}
	return r.now, nil
}

// refine asks the store for the rules of these runs: once, except the spread of benches, which may
// grow.
func (r *referee) refine(ctx context.Context, known knowing) error {
	if !r.refined {
		if err := r.database.Refine(ctx, &r.request); err != nil {
			return err
		}
		r.refined = true
	}
	if r.now != nil && r.now.surveyed == known.surveyed {
		return nil
	}
	const enough = 3
	if len(r.request.Benches) < enough {
		return nil
	}
	benches := make([]*rows.Run, len(r.request.Benches))
	for i, name := range r.request.Benches {
		var err error
		if benches[i], err = r.database.Source.Run(ctx, name); err != nil {
			return err
		}
	}
	var err error
	r.request.Judge.Spread, err = compare.Spread(ctx, r.database.Source, benches)
	return err
}

// judge judges places, in full or as far as the order of both ranks is the same. It gives the first difference at
// each.
func (r *referee) judge(ctx context.Context, places []*place, when inFull) ([]*found, error) {
	read, err := r.read(ctx, places)
	if err != nil {
		return nil, err
	}
	now, err := r.current(ctx)
	if err != nil || r.request.Map != nil { // its steps have to be whole
		return nil, err
	}
	problem, bench := r.runs()
	in := sight{problem, bench, now.definitions}
	var mutex sync.Mutex
	var differ []*found
	group, judgeCtx := errgroup.WithContext(ctx)
	group.SetLimit(judges)
	for _, p := range places {
		group.Go(func() error {
			first, err := r.judgePlace(judgeCtx, now, p, read, when)
			if err != nil || first == nil {
				return err
			}
			mutex.Lock()
			defer mutex.Unlock()
			differ = append(differ, &found{p, first, in})
			return nil
		})
	}
	err = group.Wait()
	r.putBack(places)
	return differ, err
}

func (r *referee) judgePlace(ctx context.Context, now *judging, p *place, read tensors, when inFull) (*result.FirstDifference, error) {
	beside, full := read.beside(p), when(p)
	if !full && !r.byName() {
		return nil, nil //nolint:nilnil // whether a map pairs them is not known yet
	}
	if !full {
		beside.Matches = inSameOrder(beside.Problem, beside.Bench)
	} else if err := now.match(ctx, p, beside); err != nil {
		return nil, err
	}
	placed := now.collected.Count(p.at, compare.Judged(now.rules, p.at, p.setting(), *beside, r.request.Payloads))
	if full {
		p.outcome = &outcome{by: now, summary: placed.Summary()}
	}
	return placed.First(), nil
}

// tensors are the tensors of places of both runs.
type tensors [2]map[rows.Place]*rows.Tensors

func (t tensors) beside(p *place) *compare.Beside {
	var b compare.Beside
	if p.at.InProblem {
		b.Problem = t[0][problemPlace(p.at)]
	}
	if p.at.InBench {
		b.Bench = t[1][benchPlace(p.at)]
	}
	return &b
}

func problemPlace(at pair.Step) rows.Place { return rows.Place{Rank: at.Rank, Step: at.Step} }

func benchPlace(at pair.Step) rows.Place { return rows.Place{Rank: at.BenchRank, Step: at.BenchStep} }

// read reads the tensors of places, and their definitions.
func (r *referee) read(ctx context.Context, places []*place) (tensors, error) {
	var wanted [2][]rows.Place
	for _, p := range places {
		if p.at.InProblem {
			wanted[0] = append(wanted[0], problemPlace(p.at))
		}
		if p.at.InBench {
			wanted[1] = append(wanted[1], benchPlace(p.at))
		}
	}
	var read tensors
	group, readCtx := errgroup.WithContext(ctx)
	for i := range r.shelves {
		group.Go(func() (err error) {
			read[i], err = r.shelves[i].take(readCtx, wanted[i])
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return read, err
	}
	return read, r.follower.Define(ctx, read[0], read[1])
}

// putBack drops the tensors of places that are unlikely to be judged again.
func (r *referee) putBack(places []*place) {
	for _, p := range places {
		if p.outcome != nil && lacks(p.standing[0]) == "" && lacks(p.standing[1]) == "" {
			r.shelves[0].drop(problemPlace(p.at))
			r.shelves[1].drop(benchPlace(p.at))
		}
	}
}

// setting has the facts that decide on a tensor without partner.
func (p *place) setting() judge.Setting {
	return judge.Setting{
		ProblemIncomplete: p.at.InProblem && lacks(p.standing[0]) != "", BenchIncomplete: p.at.InBench && lacks(p.standing[1]) != "",
		CommonStep: p.paired() && p.ended(),
	}
}
