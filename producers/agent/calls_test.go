package agent_test

import (
	"testing"
	"time"

	"github.com/tensortap/tensortap/internal/dev/testbed"
	"github.com/tensortap/tensortap/schemas"
)

// counted is a spool of steps whose ops were counted: equal ones, except the last.
func counted(t *testing.T, root string, o testbed.SpoolOptions, steps uint32) *testbed.Spool {
	t.Helper()
	s := testbed.NewSpool(t, root, o)
	mm := s.Define("signature", map[string]any{"name": "aten.mm.default", "inputs": []string{"self: a", "mat2: b"}, "outputs": []string{"c"}})
	relu := s.Define("signature", map[string]any{"name": "aten.relu.default", "inputs": []string{"self: c"}, "outputs": []string{"c"}})
	for step := range steps {
		s.Begin(step)
		s.Put(schemas.SpoolTallyKind, &schemas.SpoolTally{Signature: mm, Module: s.Text("layers.0"), CallCount: 3})
		if step+1 == steps {
			s.Put(schemas.SpoolTallyKind, &schemas.SpoolTally{Signature: relu, CallCount: 1})
		}
		s.End(step, 0)
	}
	return s
}

func TestEqualStepsShareATally(t *testing.T) {
	t.Parallel()
	root, l := t.TempDir(), newLog(t)
	counted(t, root, testbed.SpoolOptions{Run: "bad", Epoch: 1}, 51).Close()
	serveUntil(t, config(t, root, l), empty(t, root))
	tallies, calls := rows[schemas.TallyRow](l), rows[schemas.CallRow](l)
	if len(rows[schemas.SignatureRow](l)) != 2 || len(tallies) != 3 || len(calls) != 51 {
		t.Fatalf("tallies %+v of %d steps", tallies, len(calls))
	}
	if first := tallies[0]; first.ModulePath != "layers.0" || first.CallCount != 3 || first.TallyID != calls[0].TallyID || calls[49].TallyID != first.TallyID {
		t.Errorf("the first tally is %+v, steps have %+v and %+v", first, calls[0], calls[49])
	}
	if last := calls[50]; last.CallCount != 4 || last.TallyID == calls[0].TallyID {
		t.Errorf("the step that called more is %+v", last)
	}
	contiguous(t, l)
}

// diedAtWork is the failure of a process that ended in a step, so long after its last call had begun; or between
// steps.
func diedAtWork(t *testing.T, step uint32, after time.Duration, lastOp string) (*log, []schemas.FailureRow) {
	t.Helper()
	root, l := t.TempDir(), newLog(t)
	s := counted(t, root, testbed.SpoolOptions{Run: "bad", Epoch: 1, PID: deadPID(t), Started: longAgo()}, 1)
	op := s.Op("Aten.mm.default")
	s.Head.CurrentCall = s.Define("call", map[string]any{"op": op, "path": "layers.1", "inputs": []string{"self: a", "mat2: b"}})
	s.Head.CurrentOp, s.Head.CurrentTimeNs, s.Head.Step = s.Op(lastOp), s.Clock, step
	s.Head.HeartbeatNs = s.Clock + after.Nanoseconds()
	s.WriteHead()
	serveUntil(t, config(t, root, l), empty(t, root))
	return l, rows[schemas.FailureRow](l)
}

func TestADeadProcessTellsTheCallThatItWasIn(t *testing.T) {
	t.Parallel()
	const atWork, after = "the process ended without a word while this op ran, or just after it", "; it began 30m0s before the last sign of life"
	for _, c := range []struct {
		step    uint32
		silence time.Duration
		message string
	}{
		{1, 0, atWork},
		{1, 30 * time.Minute, atWork + after},
		{0, 45 * time.Minute, "no step that is recorded was under way when the process ended without a word: this op, the last one seen, was over with step 0, 45m0s before the last sign of life"},
	} {
		l, failures := diedAtWork(t, c.step, c.silence, "Aten.mm.default")
		if len(failures) != 1 || nameOf(l, failures[0].OpID) != "Aten.mm.default" || failures[0].Inputs != "self: a\nmat2: b" ||
			failures[0].ModulePath != "layers.1" || failures[0].Type != "process died" || failures[0].Step != c.step || failures[0].Message != c.message {
			t.Errorf("step %d, silent for %v: failures %+v, want %q", c.step, c.silence, failures, c.message)
		}
	}
	if _, failures := diedAtWork(t, 1, 0, "Module.a.A.forward.0"); len(failures) != 0 { // an op that is recorded by itself began since
		t.Errorf("a call that is over is told as %+v", failures)
	}
}
