package agent

import "github.com/tensortap/tensortap/schemas"

// groupFacts are the facts of a process group for rows of collective.
type groupFacts struct {
	name  string
	ranks []int64
}

// collective makes a row of it, in a step or between two.
func (t *translator) collective(position uint64, memory []byte) error {
	var r schemas.SpoolCollective
	r.Load(memory)
	t.TimeNs = max(t.TimeNs, r.TimeNs) // one that lasts may be written late
	group, _ := at(t.known.groups, r.Group)
	row := schemas.CollectiveRow{
		RunID: t.out.id.RunID, Rank: t.out.id.Rank, Epoch: t.out.id.Epoch, EventTimeNs: r.TimeNs, Seq: position,
		ProcessGroup: group.name, GroupRanks: group.ranks, GroupSeq: r.Number, State: collectiveState(r.State),
	}
	if t.Step != nil {
		step := t.Step.Number
		row.Step = &step
	}
	if r.IsMessage != 0 {
		row.PointToPoint = 1
	}
	if r.State == schemas.SpoolCompleted {
		row.CompletedTimeNs = &r.TimeNs
	}
	row.Name, _ = at(t.known.texts, r.Name)
	row.Inputs, _ = at(t.known.texts, r.Inputs)
	row.Outputs, _ = at(t.known.texts, r.Outputs)
	row.StackID, _ = at(t.known.stacks, r.Stack)
	row.StartedTimeNs = &r.CalledNs
	text := len(row.ProcessGroup) + len(row.Name) + len(row.Inputs) + len(row.Outputs) + 8*len(row.GroupRanks)
	return measure(t.out, t.out.collective, &t.out.rows, &row, text)
}

// collectiveState is that of the table; empty for one of a later release.
func collectiveState(state uint32) string {
	return map[uint32]string{
		schemas.SpoolCalled: schemas.CollectiveCalled, schemas.SpoolScheduled: schemas.CollectiveScheduled,
		schemas.SpoolFailed: schemas.CollectiveFailed, schemas.SpoolCompleted: schemas.CollectiveCompleted,
	}[state]
}
