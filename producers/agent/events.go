package agent

import "github.com/tensortap/tensortap/schemas"

func (t *translator) memory(position uint64, memory []byte) error {
	var r schemas.SpoolMemory
	r.Load(memory)
	device, _ := at(t.known.texts, r.Device)
	op, _ := at(t.known.ops, r.Op)
	const word = 1 << 16
	row := schemas.MemoryRow{
		RunID: t.out.id.RunID, Rank: t.out.id.Rank, Epoch: t.out.id.Epoch, EventTimeNs: r.TimeNs,
		Step: t.stepNumber(), Seq: position, OpID: op, Device: device,
		HostResidentBytes: known(r.HostResidentBytes), DeviceFreeBytes: known(r.DeviceFreeBytes),
		RetryCount: r.Retries % word, OomCount: r.Retries / word,
	}
	if device != "cpu" { // which has no allocator that counts
		row.AllocatedBytes, row.ReservedBytes, row.PeakBytes = &r.AllocatedBytes, &r.ReservedBytes, &r.PeakBytes
	}
	return measure(t.out, t.out.memory, &t.out.rows, &row, len(device))
}

// component is what a part of the memory is for. What it says of a number of bytes is one more, or 0.
func (t *translator) component(position uint64, memory []byte) error {
	var r schemas.SpoolComponent
	r.Load(memory)
	row := schemas.MemoryRow{
		RunID: t.out.id.RunID, Rank: t.out.id.Rank, Epoch: t.out.id.Epoch, EventTimeNs: r.TimeNs,
		Step: t.stepNumber(), Seq: position,
		AllocatedBytes: lessOne(r.AllocatedBytes), ReservedBytes: lessOne(r.ReservedBytes), PeakBytes: lessOne(r.PeakBytes),
	}
	row.Device, _ = at(t.known.texts, r.Device)
	row.Component, _ = at(t.known.texts, r.Component)
	row.Basis, _ = at(t.known.texts, r.Basis)
	return measure(t.out, t.out.memory, &t.out.rows, &row, len(row.Device)+len(row.Component)+len(row.Basis))
}

// known is a number of bytes that is never 0.
func known(bytes uint64) *uint64 {
	if bytes == 0 {
		return nil
	}
	return &bytes
}

func (t *translator) failure(memory []byte) error {
	var r schemas.SpoolFailure
	r.Load(memory)
	row := schemas.FailureRow{
		RunID: t.out.id.RunID, Rank: t.out.id.Rank, Epoch: t.out.id.Epoch, EventTimeNs: r.TimeNs,
		Step: t.stepNumber(), Seq: uint64(r.Seq),
	}
	row.OpID, _ = at(t.known.ops, r.Op)
	row.Type, _ = at(t.known.texts, r.Type)
	row.Message, _ = at(t.known.texts, r.Message)
	row.Inputs, _ = at(t.known.texts, r.Inputs)
	row.StackID, _ = at(t.known.stacks, r.Stack)
	row.ModulePath, _ = at(t.known.texts, r.Module)
	return measure(t.out, t.out.failure, &t.out.rows, &row, len(row.Message)+len(row.Inputs))
}

func (t *translator) unseen(memory []byte) error {
	var r schemas.SpoolUnseen
	r.Load(memory)
	row := schemas.UnseenRow{
		RunID: t.out.id.RunID, Rank: t.out.id.Rank, Epoch: t.out.id.Epoch, EventTimeNs: r.TimeNs,
		Step: t.stepNumber(), UnseenCount: r.Count,
	}
	row.Reason, _ = at(t.known.texts, r.Reason)
	row.Subject, _ = at(t.known.texts, r.Subject)
	return measure(t.out, t.out.unseen, &t.out.rows, &row, len(row.Subject))
}

// payload gives the place of a raw tensor. Without its step and site nobody could find it: the row is left out and
// counted.
func (t *translator) payload(memory []byte) error {
	var r schemas.SpoolPayload
	r.Load(memory)
	step := t.step()
	if step == nil {
		return nil
	}
	site, knownSite := at(t.known.sites, r.Site)
	location, knownLocation := at(t.known.texts, r.Location)
	if !knownSite || !knownLocation || site == 0 || location == "" {
		step.lose(1, reasonUndefined)
		return nil
	}
	row := schemas.PayloadRow{
		RunID: t.out.id.RunID, Rank: t.out.id.Rank, Epoch: t.out.id.Epoch, EventTimeNs: r.TimeNs,
		Step: t.stepNumber(), Seq: uint64(r.Seq), SiteID: site, Location: location, SizeBytes: &r.SizeBytes,
		Digest: r.Digest, DigestKind: uint8(r.DigestKind), //nolint:gosec // as the collector has them
	}
	return measure(t.out, t.out.payload, &t.out.rows, &row, len(location))
}

// sign is a sign of life, or the news of an end, as the cut keeps it: the header moves on.
type sign struct {
	State    string `json:"state"` // as heartbeat.state
	TimeNs   int64  `json:"time_ns"`
	Step     uint32 `json:"step"`
	Op       uint32 `json:"op"`
	Seq      uint32 `json:"seq"`
	SinceNs  int64  `json:"since_ns"`
	Call     uint32 `json:"call,omitempty"`
	Debugged int64  `json:"debugged_since_ns,omitempty"` // since when a person holds the process up
	Behind   int64  `json:"behind_ns,omitempty"`         // of these times behind the agent's clock
}

// States of heartbeat.state.
const (
	heartRunning = "running"
	heartEnded   = "ended"
	heartDied    = "died"
)

func (s *served) signOf(head *schemas.SpoolHead, state string) *sign {
	return &sign{Behind: s.behind.Load(), State: state, TimeNs: max(head.HeartbeatNs, head.StartedNs), Step: head.Step + s.first, Op: head.CurrentOp, Seq: head.CurrentSeq, SinceNs: head.CurrentTimeNs, Call: head.CurrentCall, Debugged: debuggedSince(head)}
}

func debuggedSince(head *schemas.SpoolHead) int64 {
	if head.Debugged == 0 {
		return 0
	}
	return head.DebuggedSinceNs
}

func (t *translator) heartbeat(s *sign) error {
	row := schemas.HeartbeatRow{
		RunID: t.out.id.RunID, Rank: t.out.id.Rank, Epoch: t.out.id.Epoch, EventTimeNs: s.TimeNs + s.Behind,
		State: s.State, Step: s.Step, Seq: uint64(s.Seq),
	}
	row.OpID, _ = at(t.known.ops, s.Op)
	if row.OpID != 0 {
		since := s.SinceNs + s.Behind
		row.SinceTimeNs = &since
	}
	if s.Debugged != 0 {
		debugged := s.Debugged + s.Behind
		row.DebuggedSinceTimeNs = &debugged
	}
	t.Behind = s.Behind
	return measure(t.out, t.out.heartbeat, &t.out.rows, &row, 0)
}

// close reports the process's end: the step under way as cut short, losses outside of steps as lost, and the last
// sign.
func (t *translator) close(last *sign, dropped uint64) error {
	doing := t.doing(last)
	if t.Step != nil && dropped > t.Dropped {
		t.Step.lose(dropped-t.Dropped, reasonFull)
		t.Dropped = dropped
	}
	if err := t.cutShort(); err != nil {
		return err
	}
	if dropped > t.Dropped {
		if err := t.droppedBetween(last.TimeNs, dropped-t.Dropped, reasonFull); err != nil {
			return err
		}
		t.Dropped = dropped
	}
	t.Closed = true
	if err := t.diedIn(last, doing); err != nil {
		return err
	}
	return t.heartbeat(last)
}

// droppedBetween reports lost records that no row of step counts.
func (t *translator) droppedBetween(timeNs int64, count uint64, why string) error {
	row := schemas.UnseenRow{
		RunID: t.out.id.RunID, Rank: t.out.id.Rank, Epoch: t.out.id.Epoch, EventTimeNs: timeNs,
		Step: t.stepNumber(), Reason: "dropped", Subject: why, UnseenCount: count,
	}
	return measure(t.out, t.out.unseen, &t.out.rows, &row, 0)
}
