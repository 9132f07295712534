package system

import (
	"encoding/json"
	"fmt"
	"sync"

	"github.com/nats-io/nats.go"

	"github.com/tensortap/tensortap/pipelines"
	"github.com/tensortap/tensortap/producers/agent"
	"github.com/tensortap/tensortap/schemas"
)

// hearing is an agent with what it hears: requests to the runs that it serves. The key of a producer does not let it hear requests to other
// runs: it could forge their answers. The methods may be called by several goroutines.
type hearing struct {
	connection *nats.Conn
	serving    *agent.Agent // set before the first run is heard
	tell       func(string)
	before     func(sequence uint32) bool

	mutex sync.Mutex // of the fields below, and of before
	runs  map[uint64]*heardRun
}

// heardRun is a run that is heard for as long as processes of it are served.
type heardRun struct {
	requests *nats.Subscription
	epochs   map[uint64]bool
}

func (c *Client) newHearing(tell func(string)) *hearing {
	return &hearing{connection: c.stream.Conn(), tell: tell, before: askedBefore(), runs: map[uint64]*heardRun{}}
}

// hear has requests to the process's run answered from now on. Each is told once.
func (h *hearing) hear(s agent.Start) error {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	of := h.runs[s.RunID]
	if of == nil {
		requests, err := h.connection.Subscribe(pipelines.ControlSubjects+schemas.FormatID(s.RunID), h.answer)
		if err != nil {
			return fmt.Errorf("listen for requests to run %s: %w", schemas.FormatID(s.RunID), err)
		}
		of = &heardRun{requests: requests, epochs: map[uint64]bool{}}
		h.runs[s.RunID] = of
	}
	of.epochs[s.Epoch] = true
	return nil
}

// leave hears nothing more for a process that is gone: of its run, if it was the last.
func (h *hearing) leave(s agent.Start) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	of := h.runs[s.RunID]
	if of == nil {
		return
	}
	if delete(of.epochs, s.Epoch); len(of.epochs) == 0 {
		_ = of.requests.Unsubscribe() // the connection may be gone, and the subscription with it
		delete(h.runs, s.RunID)
	}
}

func (h *hearing) answer(m *nats.Msg) {
	var request agent.Request
	if json.Unmarshal(m.Data, &request) != nil || request.Sequence == 0 || m.Reply == "" {
		return // of another release, whose sender is told that nobody answered
	}
	answers := h.serving.Ask(&request)
	if len(answers) > 0 && h.first(request.Sequence) {
		h.tell(told(&request, answers))
	}
	for _, answer := range answers { // each apart: stacks of many would be too large a message
		if text, err := json.Marshal(answer); err == nil {
			_ = h.connection.Publish(m.Reply, text) // one that is lost is asked for again
		}
	}
}

// first says whether nobody asked so before. Requests to several runs come at once.
func (h *hearing) first(sequence uint32) bool {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	return !h.before(sequence)
}

// end hears nothing more.
func (h *hearing) end() {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	for _, of := range h.runs {
		_ = of.requests.Unsubscribe() // as in leave
	}
}
