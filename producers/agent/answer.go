package agent

import (
	"encoding/json"

	"github.com/tensortap/tensortap/schemas"
)

// hand gives the process the request, unless it is busy with another, and returns the process's
// answer.
func (s *served) hand(r *Request, answer *Answer) error {
	if known, ok := s.answers[r.Sequence]; ok {
		*answer = known
		return nil
	}
	asked, answered := s.header.control()
	if r.MostBytes > 0 {
		answer.Payloads = s.cfg.Payloads
	}
	switch {
	case answered.Sequence == r.Sequence: // the last one, or one that another overtook
		text := s.header.answerText(answered.Length)
		if _, again := s.header.control(); again != answered { // it is being written anew
			answer.State = StatePending
			return nil
		}
		answer.State, answer.FromStep, answer.Reason = outcome(answered.Outcome), answered.Step+s.first, text
		s.traced(r, answer)
		if answer.State != StateAwaiting && answer.State != StateTracing && answer.State != StateTraced {
			s.remember(answer)
		}
	case asked.Sequence == r.Sequence:
		answer.State = StatePending
	case s.isBusy(r, asked, answered):
		answer.State = StateBusy
	default:
		text, err := r.text(s.folderFor(r))
		if err != nil {
			return err
		}
		if len(text) > schemas.SpoolControlBytes {
			return &TextError{Bytes: len(text)}
		}
		if asked.Sequence != answered.Sequence {
			s.overtaken = asked.Sequence
		}
		s.header.ask(r.Sequence, text)
		answer.State = StatePending
	}
	return nil
}

// isBusy says whether another request is in the way. One that the thread of the heartbeat follows, also in a process that
// hangs, takes the place of one that waits for a step: who asked that asks again.
func (s *served) isBusy(r *Request, asked schemas.SpoolAsked, answered schemas.SpoolAnswered) bool {
	switch {
	case asked.Sequence == answered.Sequence:
		return false
	case answered.Sequence != 0 && answered.Sequence == s.overtaken: // told late, over the answer to what overtook it
		return false
	}
	return !isForHeartbeat(r.Do) || isForHeartbeat(s.header.askedKind(asked.Length))
}

func isForHeartbeat(do string) bool { return do == DoDebug || do == DoTrace || do == doTell }

// askedKind is the kind of the request that is in the page; empty where none is, whole.
func (h *header) askedKind(length uint32) string {
	var asked struct {
		Do string `json:"do"`
	}
	at := schemas.SpoolControlOffset + askedBytes
	if json.Unmarshal(h.page[at:at+min(int(length), schemas.SpoolControlBytes)], &asked) != nil {
		return ""
	}
	return asked.Do
}

// remember keeps the answer, for a caller that asks again after the next request.
func (s *served) remember(answer *Answer) {
	const most = 64
	if s.answers == nil || len(s.answers) >= most {
		s.answers = map[uint32]Answer{}
	}
	s.answers[answer.Sequence] = *answer
}

func outcome(answered uint32) string {
	switch answered {
	case schemas.SpoolRecording:
		return StateRecording
	case schemas.SpoolAwaiting:
		return StateAwaiting
	case schemas.SpoolStopped:
		return StateStopped
	case schemas.SpoolResumed:
		return StateResumed
	case schemas.SpoolTracing:
		return StateTracing
	case schemas.SpoolListening:
		return StateListening
	default:
		return StateRefused
	}
}
