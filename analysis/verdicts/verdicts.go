// Package verdicts makes messages of what comparisons come to, so that it is
// stored as events of ranks are. It is pure: whoever judges publishes them.
package verdicts

import (
	"fmt"

	"github.com/zeebo/xxh3"

	"github.com/tensortap/tensortap/analysis/pair"
	"github.com/tensortap/tensortap/analysis/result"
	"github.com/tensortap/tensortap/analysis/rows"
	"github.com/tensortap/tensortap/schemas"
)

// Unit is what is judged, published and stored as a whole, exactly once: one step of one rank by one comparison, as both
// runs recorded it.
type Unit struct {
	Comparison uint64 // schemas.DeclaredComparisonID
	Problem    uint64 // run
	At         pair.Step

	ProblemEpoch, BenchEpoch uint64 // of the ends of the step; 0 where a run has none
	Generation               uint32 // how often the step was replaced, of both sides together
	EventTimeNs              int64  // when the later of both ended; 0 while neither has
	Provisional              bool   // it was judged before it had ended, or while rows were missing
	Facts                    uint64 // compare.Job.Facts; it does not tell units from each other

	wholeProblem, wholeBench uint64 // tensors that the ends of the step promise
	open                     bool   // a run has begun the step and not ended it
}

// UnitOf is the unit of a step, as it will be when all of its rows are there.
func UnitOf(comparison uint64, problem, bench *rows.Run, at pair.Step) Unit {
	u := Unit{Comparison: comparison, Problem: problem.ID, At: at}
	if at.InProblem {
		u.ProblemEpoch, u.wholeProblem = u.take(problem.StepAt(rows.Place{Rank: at.Rank, Step: at.Step}))
	}
	if at.InBench {
		u.BenchEpoch, u.wholeBench = u.take(bench.StepAt(rows.Place{Rank: at.BenchRank, Step: at.BenchStep}))
	}
	u.Provisional = u.open
	return u
}

func (u *Unit) take(end *schemas.StepRow) (epoch, tensors uint64) {
	if end == nil {
		u.open = true
		return 0, 0
	}
	u.Generation += end.Generation
	u.EventTimeNs = max(u.EventTimeNs, end.EventTimeNs)
	return end.Epoch, end.TensorCount
}

// Seen is the unit once its tensors were read: provisional where more of them may come.
func (u *Unit) Seen(at pair.Step) {
	u.At = at
	u.Provisional = u.open || u.Lacks()
}

// Lacks says whether tensors are missing that the ends of the step promise.
func (u *Unit) Lacks() bool {
	return u.At.ProblemRows < u.wholeProblem || u.At.BenchRows < u.wholeBench
}

// Epoch tells the unit from all others: stored rows carry it.
func (u *Unit) Epoch() uint64 { return u.identity().Epoch }

// identity is the same for the same content, whoever judges it and however often.
func (u *Unit) identity() schemas.Identity {
	text := fmt.Sprint(u.Comparison, " ", u.At.Rank, " ", u.At.Step, " ", u.ProblemEpoch, " ", u.BenchEpoch, " ", u.Generation)
	if u.Provisional {
		text += fmt.Sprint(" ", u.At.ProblemRows, " ", u.At.BenchRows)
	}
	return schemas.Identity{RunID: u.Problem, Rank: u.At.Rank, Epoch: xxh3.HashString(text)}
}

// rowsOfMessage keeps a message far below what a stream takes.
const rowsOfMessage = 2_000

// Messages are the rows of a unit: the verdicts on what does not agree, the errors by layer and, last, what came of the
// step, which makes the others count. The unit has seen the place.
func Messages(u Unit, placed *result.Placed) ([]schemas.Message, error) {
	id := u.identity()
	messages, err := u.verdicts(id, placed)
	if err != nil {
		return nil, err
	}
	layers, err := u.layers(id, placed.Layers())
	if err != nil {
		return nil, err
	}
	messages = append(messages, layers...)
	steps := schemas.NewBuilder[schemas.JudgedStepRow]()
	steps.Append(u.step(id, placed))
	last, err := steps.Message(id)
	return append(messages, last), err
}

func (u *Unit) verdicts(id schemas.Identity, placed *result.Placed) ([]schemas.Message, error) {
	batches := newBatches[schemas.VerdictRow](id)
	judged := placed.Judged()
	for i := range judged {
		if j := &judged[i]; j.IsKept() {
			row := u.verdict(batches.id, j, placed)
			if err := batches.add(&row); err != nil {
				return nil, err
			}
		}
	}
	return batches.finish()
}

// batches are messages under one identity, numbered from 0.
type batches[R any, P schemas.Row[R]] struct {
	id       schemas.Identity
	builder  *schemas.Builder[R, P]
	messages []schemas.Message
}

func newBatches[R any, P schemas.Row[R]](id schemas.Identity) *batches[R, P] {
	return &batches[R, P]{id: id, builder: schemas.NewBuilder[R, P]()}
}

func (b *batches[R, P]) add(row *R) error {
	b.builder.Append(row)
	if b.builder.Len() < rowsOfMessage {
		return nil
	}
	return b.pack()
}

func (b *batches[R, P]) pack() error {
	message, err := b.builder.Message(b.id)
	b.messages = append(b.messages, message)
	b.id.Batch++
	return err
}

func (b *batches[R, P]) finish() ([]schemas.Message, error) {
	if b.builder.Len() == 0 {
		return b.messages, nil
	}
	err := b.pack()
	return b.messages, err
}
