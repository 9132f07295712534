package agent_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tensortap/tensortap/internal/dev/testbed"
	"github.com/tensortap/tensortap/schemas"
)

// deadPID is the number of a process that has ended.
func deadPID(tb testing.TB) int {
	tb.Helper()
	cmd := exec.CommandContext(tb.Context(), "true")
	if err := cmd.Run(); err != nil {
		tb.Fatal(err)
	}
	return cmd.Process.Pid
}

// longAgo is a start with stale signs of life.
func longAgo() time.Time { return time.Now().Add(-time.Hour) }

func TestADeadProcessLeavesItsOpenStepAndWhatItWasDoing(t *testing.T) {
	t.Parallel()
	root, l := t.TempDir(), newLog(t)
	s := testbed.NewSpool(t, root, testbed.SpoolOptions{Run: "bad", Epoch: 1, PID: deadPID(t), Started: longAgo()})
	s.Step(4, 2)
	s.Begin(5)
	outer := s.Call("Module.a.A.forward.0", "", schemas.SpoolOpOpens, 0)
	s.Tensor("Module.a.A.forward.0", "input", "0", outer, 1)
	leaf := s.Call("Functional.linear.0.forward", "Module.a.A.forward.0", 0, 0)
	torn := s.Reserve(2) // of a tensor that was being written
	s.Commit(torn+1, schemas.SpoolCountsKind, &schemas.SpoolCounts{NaNCount: 7})
	s.Tensor("Functional.linear.0.forward", "output", "0", leaf, 2)
	s.Call("Distributed.all_reduce.0.forward", "Module.a.A.forward.0", schemas.SpoolOpOpens, 0)
	s.Head.CurrentOp, s.Head.CurrentSeq, s.Head.CurrentTimeNs = s.Op("Distributed.all_reduce.0.forward"), 9, s.Clock
	s.Head.Step, s.Head.DroppedCount = 5, 3
	s.WriteHead()
	serveUntil(t, config(t, root, l), empty(t, root))

	steps := rows[schemas.StepRow](l)
	if len(steps) != 2 || steps[0].Complete != 1 || steps[1].Step != 5 || steps[1].Complete != 0 || steps[1].OpCount != 3 || steps[1].TensorCount != 2 || steps[1].EndTimeNs != nil || steps[1].DroppedCount != 3 {
		t.Errorf("steps %+v", steps)
	}
	var program []string
	for _, p := range rows[schemas.ProgramRow](l) {
		if p.ProgramID == steps[1].ProgramID {
			program = append(program, nameOf(l, p.OpID)+" in "+nameOf(l, p.ParentOpID))
		}
	}
	want := "Functional.linear.0.forward in Module.a.A.forward.0, Distributed.all_reduce.0.forward in Module.a.A.forward.0, Module.a.A.forward.0 in "
	if got := strings.Join(program, ", "); got != want {
		t.Errorf("program %q, want %q", got, want)
	}
	beats := rows[schemas.HeartbeatRow](l)
	last := beats[len(beats)-1]
	if last.State != "died" || last.Step != 5 || nameOf(l, last.OpID) != "Distributed.all_reduce.0.forward" || last.SinceTimeNs == nil {
		t.Errorf("last sign of life %+v", last)
	}
	for _, r := range rows[schemas.TensorRow](l) {
		if r.NaNCount != 0 {
			t.Errorf("a record that was never committed became %+v", r)
		}
	}
	for _, how := range l.starts {
		if how != "died" {
			t.Errorf("finished as %q", how)
		}
	}
}

func nameOf(l *log, op uint64) string {
	l.tb.Helper()
	for _, r := range rows[schemas.OpRow](l) {
		if r.OpID == op {
			return r.Name
		}
	}
	return ""
}

func TestRecordsAreTakenInTheirOrderHoweverLateOneIsCommitted(t *testing.T) {
	t.Parallel()
	root, l := t.TempDir(), newLog(t)
	s := testbed.NewSpool(t, root, testbed.SpoolOptions{Run: "bad", Epoch: 1})
	s.Begin(0)
	seq := s.Call("Torch.a.0.forward", "", 0, 0)
	late := s.Reserve(1)
	s.Tensor("Torch.a.0.forward", "output", "1", seq, 2)
	s.End(0, 0)
	cfg := config(t, root, l)
	looks := 0
	serveUntil(t, cfg, func() bool { // it looks several times and goes no further
		looks++
		return looks > 50
	})
	if n := len(rows[schemas.TensorRow](l)); n != 0 {
		t.Errorf("%d tensors are published before the one that comes first", n)
	}
	s.Commit(late, schemas.SpoolTensorKind, &schemas.SpoolTensor{Site: s.Site(s.Op("Torch.a.0.forward"), "output", "0"), Layout: s.Layout(2, 2), Seq: seq, Flags: testbed.MeasuredAll})
	s.Close()
	serveUntil(t, cfg, empty(t, root))
	tensors := rows[schemas.TensorRow](l)
	if len(tensors) != 2 || tensors[0].Seq != late || tensors[1].Seq != late+1 || tensors[0].MicroStep != 0 {
		t.Errorf("tensors %+v", tensors)
	}
}

func TestARecordThatIsNeverCommittedIsGivenUpAfterAWhile(t *testing.T) {
	t.Parallel()
	root, l := t.TempDir(), newLog(t)
	s := testbed.NewSpool(t, root, testbed.SpoolOptions{Run: "bad", Epoch: 1})
	s.Step(0, 1)
	s.Reserve(1)
	s.Step(1, 1)
	cfg := config(t, root, l)
	cfg.StallAfter = 50 * time.Millisecond
	serveUntil(t, cfg, func() bool { return len(rows[schemas.StepRow](l)) == 2 })
	s.Close()
	serveUntil(t, cfg, empty(t, root)) // which goes through the same records again
	onceEach(t, l, 1, 2, 2)
}

func TestATornDefinitionIsReadOnceItIsWhole(t *testing.T) {
	t.Parallel()
	root, l := t.TempDir(), newLog(t)
	s := testbed.NewSpool(t, root, testbed.SpoolOptions{Run: "bad", Epoch: 1})
	text := testbed.FrameDefinition([]byte(`{"d":"text","id":77,"text":"` + strings.Repeat("long ", 1000) + `"}`))
	s.RawDefinitions(text[:100])
	cfg := config(t, root, l)
	serveUntil(t, cfg, func() bool { return len(rows[schemas.RunRow](l)) == 1 })
	s.RawDefinitions(text[100:])
	s.Step(0, 2)
	s.Close()
	serveUntil(t, cfg, empty(t, root))
	onceEach(t, l, 1, 1, 4)
}

func TestWhatADamagedDefinitionNamesIsCountedAsLost(t *testing.T) {
	t.Parallel()
	root, l := t.TempDir(), newLog(t)
	s := testbed.NewSpool(t, root, testbed.SpoolOptions{Run: "bad", Epoch: 1})
	s.RawDefinitions(testbed.FrameDefinition([]byte(`{"d":"site","id":4000000000,"op":1,"role":"input"}`)))
	s.RawDefinitions(testbed.FrameDefinition([]byte(`{"d":"op","id":`)))
	s.Begin(0)
	seq := s.Call("Torch.a.0.forward", "", 0, 0)
	s.Tensor("Torch.a.0.forward", "output", "0", seq, 1)
	s.Put(schemas.SpoolTensorKind, &schemas.SpoolTensor{Site: 4000000000, Layout: 1, Seq: seq})
	s.Put(schemas.SpoolOpKind, &schemas.SpoolOp{Op: 99, Seq: 9})
	s.Put(schemas.SpoolTensorKind, &schemas.SpoolTensor{Site: 1, Layout: 1, Seq: seq, Extra: 1 << 31})
	s.End(0, 2)
	s.Close()
	serveUntil(t, config(t, root, l), empty(t, root))
	steps := rows[schemas.StepRow](l)
	if len(steps) != 1 || steps[0].DroppedCount != 4 || steps[0].TensorCount != 2 || steps[0].OpCount != 1 ||
		!strings.Contains(steps[0].DropReason, "definition") || !strings.Contains(steps[0].DropReason, "full") {
		t.Errorf("steps %+v", steps)
	}
}

func TestABatchNeverSpansTwoDays(t *testing.T) {
	t.Parallel()
	root, l := t.TempDir(), newLog(t)
	midnight := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	s := testbed.NewSpool(t, root, testbed.SpoolOptions{Run: "bad", Epoch: 1, PID: deadPID(t), Started: midnight.Add(-200 * time.Microsecond)})
	for step := range uint32(10) {
		s.Step(step, 20)
	}
	s.Close()
	serveUntil(t, config(t, root, l), empty(t, root))
	days := map[int64]bool{}
	for _, m := range l.order {
		day := 24 * time.Hour.Nanoseconds()
		if m.Header.MinEventTimeNs/day != m.Header.MaxEventTimeNs/day {
			t.Errorf("message %s spans %d to %d", m.ID(), m.Header.MinEventTimeNs, m.Header.MaxEventTimeNs)
		}
		if m.Header.Kind == "tensor" {
			days[m.Header.MinEventTimeNs/day] = true
		}
	}
	if len(days) != 2 {
		t.Errorf("tensors of days %v, want two: the test tries nothing", days)
	}
	onceEach(t, l, 1, 10, 40)
	contiguous(t, l)
}

func TestRecordsThatTheProcessGaveUpAreToldOf(t *testing.T) {
	t.Parallel()
	root, l := t.TempDir(), newLog(t)
	s := testbed.NewSpool(t, root, testbed.SpoolOptions{Run: "bad", Epoch: 1, SegmentRows: 64})
	for step := range uint32(3) {
		s.Step(step, 10)
	}
	s.Begin(3)
	s.Call("Module.a.A.forward.0", "", schemas.SpoolOpOpens, 0)
	cfg := config(t, root, l)
	serveUntil(t, cfg, func() bool { return len(rows[schemas.StepRow](l)) == 3 })
	s.End(3, 0)
	for step := uint32(4); step < 12; step++ { // while no agent looks
		s.Step(step, 10)
	}
	giveUp(t, s, s.Head.NextSegment-3)
	s.Step(12, 10)
	s.Head.DroppedCount = 64 * 3
	s.Close()
	serveUntil(t, cfg, empty(t, root))
	contiguous(t, l)
	steps := rows[schemas.StepRow](l)
	dropped, complete := uint64(0), map[uint32]uint8{}
	for _, s := range steps {
		dropped += s.DroppedCount
		complete[s.Step] = s.Complete
	}
	if complete[2] != 1 || complete[12] != 1 || complete[3] != 0 || dropped == 0 {
		t.Errorf("%d records are told to be dropped, steps are complete: %v", dropped, complete)
	}
	if unseen := rows[schemas.UnseenRow](l); len(unseen) != 1 || unseen[0].Reason != "dropped" || unseen[0].UnseenCount != 64*3 {
		t.Errorf("not seen: %+v", unseen)
	}
}

func TestAStepThatEndedBeforeAGapIsNotToldAgain(t *testing.T) {
	t.Parallel()
	root, l := t.TempDir(), newLog(t)
	s := testbed.NewSpool(t, root, testbed.SpoolOptions{Run: "bad", Epoch: 1, SegmentRows: 64})
	cfg := config(t, root, l)
	cfg.CheckpointRows = 16
	s.Begin(3)
	const tensors = 40
	for range tensors {
		s.Tensor("Module.a.A.forward.0", "input", "0", s.Call("Module.a.A.forward.0", "", 0, 0), 1)
	}
	serveUntil(t, cfg, func() bool { return len(rows[schemas.TensorRow](l)) == tensors })
	cfg.CheckpointRows = 1 << 16 // the state that is written down is that in the midst of the step
	s.End(3, 0)
	serveUntil(t, cfg, func() bool { return len(rows[schemas.StepRow](l)) == 1 })
	for step := uint32(4); step < 12; step++ { // while no agent looks
		s.Step(step, 10)
	}
	giveUp(t, s, s.Head.NextSegment-3)
	s.Step(12, 10)
	s.Close()
	serveUntil(t, cfg, empty(t, root))
	contiguous(t, l)
	var ofStep []schemas.StepRow
	for _, row := range rows[schemas.StepRow](l) {
		if row.Step == 3 {
			ofStep = append(ofStep, row)
		}
	}
	if len(ofStep) != 1 || ofStep[0].Complete != 1 || ofStep[0].TensorCount != tensors {
		t.Errorf("the step that had ended is told as %+v, want one row of a complete step", ofStep)
	}
}

func TestWhatIsOfNoKnownStepIsOfNoOther(t *testing.T) {
	t.Parallel()
	root, l := t.TempDir(), newLog(t)
	s := testbed.NewSpool(t, root, testbed.SpoolOptions{Run: "bad", Epoch: 1})
	serve := func() {
		s.Put(schemas.SpoolRequestKind, &schemas.SpoolRequest{PromptHash: 5, FirstPosition: 1, TokenCount: 1})
	}
	s.Begin(3)
	serve()
	s.End(3, 0)
	serve() // of step 4, whose beginning was dropped
	s.Put(schemas.SpoolPayloadKind, &schemas.SpoolPayload{Site: s.Site(s.Op("Module.a.A.forward.0"), "output", "0"), Seq: 9, Location: s.Text("1-0123456789abcdef/4-9-1.safetensors")})
	s.End(4, 0)
	s.Close()
	serveUntil(t, config(t, root, l), empty(t, root))
	if served := rows[schemas.RequestRow](l); len(served) != 1 || served[0].Step != 3 {
		t.Errorf("requests %+v, want that of step 3", served)
	}
	if kept := rows[schemas.PayloadRow](l); len(kept) != 0 {
		t.Errorf("payloads %+v, want none", kept)
	}
	if steps := rows[schemas.StepRow](l); len(steps) != 2 || steps[1].DroppedCount != 2 || steps[1].Complete != 0 {
		t.Errorf("steps %+v, want two lost records in the second", steps)
	}
}

// giveUp removes the segments before the given one, as a process does that no agent looks after.
func giveUp(tb testing.TB, s *testbed.Spool, first uint32) {
	tb.Helper()
	for number := range first {
		if err := os.Remove(filepath.Join(s.Dir, fmt.Sprintf("rows-%08d", number))); err != nil && !os.IsNotExist(err) {
			tb.Fatal(err)
		}
	}
	s.Head.FirstSegment = first
	s.WriteHead()
}
