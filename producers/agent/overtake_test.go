package agent_test

import (
	"testing"

	"github.com/tensortap/tensortap/internal/dev/testbed"
	"github.com/tensortap/tensortap/producers/agent"
	"github.com/tensortap/tensortap/schemas"
)

func TestADebuggerAndATraceReachARankWhoseStepsStandStill(t *testing.T) {
	t.Parallel()
	for do, outcome := range map[string]uint32{agent.DoDebug: schemas.SpoolListening, agent.DoTrace: schemas.SpoolTracing} {
		root := t.TempDir()
		s := testbed.NewSpool(t, root, testbed.SpoolOptions{Run: "live", Epoch: 7})
		a := serving(t, config(t, root, newLog(t)))
		request := func(sequence uint32, do string) agent.Request {
			return agent.Request{RunID: schemas.RunID("live"), Sequence: sequence, Do: do, Level: "mix", Steps: 2, Seconds: 1, Rate: 9}
		}
		capture, urgent := request(11, agent.DoCapture), request(12, do)
		asked(t, a, capture, agent.StatePending)
		asked(t, a, request(9, agent.DoProfile), agent.StateBusy)
		asked(t, a, urgent, agent.StatePending)
		if page, _ := s.Asked(); page.Sequence != 12 {
			t.Errorf("%s: the process is asked %+v", do, page)
		}
		asked(t, a, request(13, agent.DoDebug), agent.StateBusy) // two would chase each other from the page
		asked(t, a, capture, agent.StateBusy)
		answer(t, s, schemas.SpoolAnswered{Sequence: 12, Outcome: outcome, Step: 4}, "")
		if answers := a.Ask(&urgent); len(answers) != 1 || answers[0].FromStep != 4 {
			t.Errorf("%s: %+v", do, answers)
		}
		asked(t, a, capture, agent.StatePending)
		if page, _ := s.Asked(); page.Sequence != 11 {
			t.Errorf("%s: the capture is not asked again: %+v", do, page)
		}
	}
}

func TestALateAnswerToWhatWasOvertakenLeavesNobodyWaiting(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	s := testbed.NewSpool(t, root, testbed.SpoolOptions{Run: "live", Epoch: 7})
	a := serving(t, config(t, root, newLog(t)))
	capture := agent.Request{RunID: schemas.RunID("live"), Sequence: 11, Do: agent.DoCapture, Level: "mix", Steps: 2}
	asked(t, a, capture, agent.StatePending)
	asked(t, a, agent.Request{RunID: capture.RunID, Sequence: 12, Do: agent.DoDebug}, agent.StatePending)
	answer(t, s, schemas.SpoolAnswered{Sequence: 12, Outcome: schemas.SpoolListening}, "")
	answer(t, s, schemas.SpoolAnswered{Sequence: 11, Outcome: schemas.SpoolRecording, Step: 5}, "")
	if got := asked(t, a, capture, agent.StateRecording); got.FromStep != 5 {
		t.Errorf("answer %+v", got)
	}
	asked(t, a, agent.Request{RunID: capture.RunID, Sequence: 13, Do: agent.DoStop}, agent.StatePending)
}
