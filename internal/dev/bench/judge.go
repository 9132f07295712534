package main

import (
	"context"
	"fmt"
	"runtime"

	"github.com/tensortap/tensortap/analysis/compare"
	"github.com/tensortap/tensortap/analysis/judge"
	"github.com/tensortap/tensortap/analysis/pair"
	"github.com/tensortap/tensortap/analysis/rows"
	"github.com/tensortap/tensortap/analysis/verdicts"
	"github.com/tensortap/tensortap/schemas"
)

// mostJudged is how many pairs are held in memory.
const mostJudged = 1_500_000

// measureJudge has one core judge what lies in memory.
func measureJudge(ctx context.Context, e *env) (section, error) {
	var s section
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	for _, tensors := range []int{5_000, 150_000} {
		held := hold(newModel(tensors), max(1, min(e.runRows(), mostJudged)/tensors))
		going, opened, err := e.judged(ctx, held)
		if err != nil {
			return s, err
		}
		mark := 1e6
		if e.runRows() < mostJudged {
			mark = 0
		}
		s.add(going.atLeast(fmt.Sprintf("steps of %d tensors, as they come", tensors), mark, thousandPairs))
		s.add(opened.atLeast("the comparison opened anew for them", 0, thousandPairs))
	}
	s.note("Rows of both runs in memory, as the store and folders of dumps give them; one row in %d differs. Pairing, judging, and messages of what does not agree and of each step, ready to be published. Go runs on one core (GOMAXPROCS), its garbage collection included; seconds are of processor time, of the whole process.", differsOnceIn)
	s.note("As they come: the comparison has seen steps of the same programs before, up to %d pairs at a time. Opened anew: its rules and the plan by which steps pair are made first.", mostJudged)
	return s, nil
}

// judged is pairs a second of processor time, of a comparison that goes on, and of one that is opened for it.
func (e *env) judged(ctx context.Context, held *heldRuns) (going, opened rounds, err error) {
	request := compare.DefaultRequest()
	request.Problem, request.Benches = "problem", []string{"bench"}
	defer e.profiling()()
	for range e.rounds {
		var job *compare.Job
		first, err := used(func() (err error) {
			if job, err = compare.Open(ctx, held, request); err != nil {
				return err
			}
			return held.judge(ctx, job)
		})
		if err != nil {
			return nil, nil, err
		}
		second, err := used(func() error { return held.judge(ctx, job) })
		if err != nil {
			return nil, nil, err
		}
		e.say("%s, opened anew %s", thousandPairs(held.pairs/second), thousandPairs(held.pairs/first))
		going, opened = append(going, held.pairs/second), append(opened, held.pairs/first)
	}
	return going, opened, nil
}

func thousandPairs(v float64) string { return fmt.Sprintf("%.0f k pairs/s", v/1e3) }

// heldRuns are two runs in memory.
type heldRuns struct {
	definitions *rows.Definitions
	runs        map[string]*rows.Run
	tensors     map[*rows.Run]map[rows.Place]*rows.Tensors
	pairs       float64
}

func hold(m *model, steps int) *heldRuns {
	h := &heldRuns{definitions: m.definitions(), runs: map[string]*rows.Run{}, tensors: map[*rows.Run]map[rows.Place]*rows.Tensors{}}
	h.pairs = float64(steps * len(m.sites))
	for _, name := range []string{"problem", "bench"} {
		g := m.generator(schemas.RunID(name), 1).drawAlike(name == "problem")
		id := schemas.Identity{RunID: g.run, Epoch: g.epoch}
		run := &rows.Run{Name: name, ID: g.run, MainDtype: "torch.float32", Ranks: []schemas.RankRow{{RunID: g.run, Epoch: g.epoch, TP: -1, PP: -1, DP: -1, CP: -1, EP: -1}}}
		h.runs[name], h.tensors[run] = run, map[rows.Place]*rows.Tensors{}
		for step := range uint32(steps) { //nolint:gosec // a small number
			tensors := &rows.Tensors{}
			for range m.sites {
				tensors.Append(g.next(0))
			}
			h.tensors[run][rows.Place{Step: step}] = tensors
			run.Steps = append(run.Steps, *m.ended(id, step, g.row.EventTimeNs))
		}
	}
	return h
}

func (m *model) definitions() *rows.Definitions {
	d := rows.NewDefinitions()
	for i := range m.ops {
		d.Ops[m.ops[i].OpID] = &m.ops[i]
	}
	for _, site := range m.sites {
		d.Sites[site.SiteID] = site
	}
	for i := range m.layouts {
		d.Layouts[m.layouts[i].LayoutID] = &m.layouts[i]
	}
	d.Programs[m.program[0].ProgramID] = m.program
	return d
}

// judge judges every step and packs what came of it.
func (h *heldRuns) judge(ctx context.Context, job *compare.Job) error {
	problem, bench := job.Runs()
	collected := job.Collector()
	return job.Judge(ctx, job.Steps(), func(at pair.Step, judged []judge.Judged) error {
		unit := verdicts.UnitOf(1, problem, bench, at)
		unit.Seen(at)
		messages, err := verdicts.Messages(unit, collected.Count(at, judged))
		if err == nil && (unit.Provisional || len(messages) == 0) {
			err = fmt.Errorf("step %d was not judged as a whole", at.Step)
		}
		return err
	})
}

// Definitions are those of both runs.
func (h *heldRuns) Definitions() *rows.Definitions { return h.definitions }

// Run is the problem or the bench.
func (h *heldRuns) Run(_ context.Context, name string) (*rows.Run, error) { return h.runs[name], nil }

// Tensors are those of some places of a run.
func (h *heldRuns) Tensors(_ context.Context, run *rows.Run, places []rows.Place) (map[rows.Place]*rows.Tensors, error) {
	tensors := map[rows.Place]*rows.Tensors{}
	for _, at := range places {
		if held := h.tensors[run][at]; held != nil {
			tensors[at] = held
		}
	}
	return tensors, nil
}
