package compare

import (
	"context"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/tensortap/tensortap/analysis/judge"
	"github.com/tensortap/tensortap/analysis/pair"
	"github.com/tensortap/tensortap/analysis/rows"
)

// judges is the number of places judged at a time.
const judges = 2

// rooms hold the verdicts of places, one place after another.
type rooms chan []judge.Judged

func newRooms() rooms {
	r := make(rooms, judges)
	for range judges {
		r <- nil
	}
	return r
}

// window is some places with the tensors of both runs.
type window struct {
	steps          []pair.Step
	problem, bench map[rows.Place]*rows.Tensors
}

// of are the tensors of a place, which learns how many they are.
func (w *window) of(at *pair.Step) (problem, bench *rows.Tensors) {
	if at.InProblem {
		problem = w.problem[rows.Place{Rank: at.Rank, Step: at.Step}]
	}
	if at.InBench {
		bench = w.bench[rows.Place{Rank: at.BenchRank, Step: at.BenchStep}]
	}
	at.ProblemRows, at.BenchRows = uint64(problem.Observed()), uint64(bench.Observed()) //nolint:gosec // lengths
	return problem, bench
}

// Judge hands the verdicts of all pairs of each step to each, which keeps none of the slice and may be called by several
// goroutines at a time. While a window is judged, the next one is read.
func (j *Job) Judge(ctx context.Context, steps []pair.Step, each func(at pair.Step, judged []judge.Judged) error) error {
	problem, bench := j.problem.Weights(), j.bench().Weights()
	parts := rows.Windows(steps, func(s pair.Step) uint64 {
		return problem[rows.Place{Rank: s.Rank, Step: s.Step}] + bench[rows.Place{Rank: s.BenchRank, Step: s.BenchStep}]
	})
	group, judgeCtx := errgroup.WithContext(ctx)
	read, rooms := make(chan window), newRooms()
	group.Go(func() error {
		defer close(read)
		return j.read(judgeCtx, parts, read)
	})
	group.Go(func() error {
		for w := range read {
			if err := j.judgeWindow(judgeCtx, w, rooms, each); err != nil {
				return err
			}
		}
		return nil
	})
	return group.Wait()
}

func (j *Job) read(ctx context.Context, parts [][]pair.Step, to chan<- window) error {
	for _, part := range parts {
		w, err := j.readWindow(ctx, part)
		if err != nil {
			return err
		}
		select {
		case to <- w:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

func (j *Job) readWindow(ctx context.Context, steps []pair.Step) (window, error) {
	w := window{steps: steps}
	problem, bench := places(steps)
	group, readCtx := errgroup.WithContext(ctx)
	group.Go(func() (err error) {
		w.problem, err = j.source.Tensors(readCtx, j.problem, problem)
		return err
	})
	group.Go(func() (err error) {
		w.bench, err = j.source.Tensors(readCtx, j.bench(), bench)
		return err
	})
	return w, group.Wait()
}

// places are the places of both runs in a window. A step of the bench may stand beside several of the problem.
func places(window []pair.Step) (problem, bench []rows.Place) {
	asked := map[rows.Place]bool{}
	for _, s := range window {
		if s.InProblem {
			problem = append(problem, rows.Place{Rank: s.Rank, Step: s.Step})
		}
		at := rows.Place{Rank: s.BenchRank, Step: s.BenchStep}
		if s.InBench && !asked[at] {
			asked[at] = true
			bench = append(bench, at)
		}
	}
	return problem, bench
}

func (j *Job) judgeWindow(ctx context.Context, w window, rooms rooms, each func(pair.Step, []judge.Judged) error) error {
	group, judgeCtx := errgroup.WithContext(ctx)
	group.SetLimit(judges)
	for _, at := range w.steps {
		if judgeCtx.Err() != nil {
			break
		}
		group.Go(func() error {
			room := <-rooms
			defer func() { rooms <- room }()
			problem, bench := w.of(&at)
			room = j.judgePlace(room, at, problem, bench)
			return each(at, room)
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	return context.Cause(ctx) // a window that was cut short proves nothing
}

// judgePlace judges the pairs of one step of one rank, in execution order, in the room that another place needs no more.
func (j *Job) judgePlace(room []judge.Judged, at pair.Step, problem, bench *rows.Tensors) []judge.Judged {
	matches := j.planner.Plan(at, problem, bench).Matches(problem, bench)
	return judged(room, j.rules, at, j.settings.of(at), Beside{problem, bench, matches}, j.request.Payloads)
}

// Beside are the tensors of both runs at a place, and the pairs of their rows.
type Beside struct {
	Problem, Bench *rows.Tensors
	Matches        []pair.Match
}

// Judged are the verdicts on all pairs of a place, in their order.
func Judged(rules *judge.Rules, at pair.Step, setting judge.Setting, of Beside, payloads map[PayloadPlace]judge.Payload) []judge.Judged {
	return judged(nil, rules, at, setting, of, payloads)
}

func judged(room []judge.Judged, rules *judge.Rules, at pair.Step, setting judge.Setting, of Beside, payloads map[PayloadPlace]judge.Payload) []judge.Judged {
	judged := slices.Grow(room[:0], len(of.Matches))[:len(of.Matches)]
	for i, beside := range of.Matches {
		p := &judged[i].Pair
		*p = judge.Pair{Rank: at.Rank, Step: at.Step, BenchRank: at.BenchRank, BenchStep: at.BenchStep}
		if beside.Problem >= 0 {
			p.InProblem, p.Problem = true, of.Problem.At(int(beside.Problem))
		}
		if beside.Bench >= 0 {
			p.InBench, p.Bench = true, of.Bench.At(int(beside.Bench))
		}
		judged[i].Verdict = rules.Judge(p, setting, payloadOf(payloads, p))
	}
	return judged
}

// payloadOf is the comparison of a pair's raw tensors; nil where none were compared.
func payloadOf(payloads map[PayloadPlace]judge.Payload, p *judge.Pair) *judge.Payload {
	if len(payloads) == 0 {
		return nil
	}
	if said, compared := payloads[PayloadPlace{p.Rank, p.Step, p.Problem.SiteID, p.Bench.SiteID}]; compared {
		return &said
	}
	return nil
}
