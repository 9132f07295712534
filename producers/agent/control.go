package agent

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"slices"
	"strings"

	"github.com/tensortap/tensortap/schemas"
)

// Kinds of requests.
const (
	DoCapture = "capture" // more detail for some steps
	DoStop    = "stop"    // record nothing
	DoResume  = "resume"  // record again
	DoPoke    = "poke"    // say where the process is
	DoDebug   = "debug"   // let a debugger attach
)

// Request asks something of processes of a run.
type Request struct {
	RunID    uint64  `json:"run_id,string"`
	Ranks    []int64 `json:"ranks,omitempty"` // only these; empty: all
	Sequence uint32  `json:"sequence"`        // random, not 0; the same when asked again, which is then answered anew and followed once
	Do       string  `json:"do"`
	By       string  `json:"by,omitempty"` // who asks, for the log

	Level     string   `json:"level,omitempty"`
	Steps     int      `json:"steps,omitempty"`
	Scope     []string `json:"scope,omitempty"`
	Requests  []string `json:"requests,omitempty"`   // only steps that serve a request whose id fits one of these patterns
	Prompts   []uint64 `json:"prompts,omitempty"`    // or one with a prompt of such a hash
	Texts     []string `json:"texts,omitempty"`      // or one with a prompt that holds such a text
	When      string   `json:"when,omitempty"`       // and only steps that fulfil these conditions
	Port      int      `json:"port,omitempty"`       // of rank 0, of a debugger; 0: as the run's settings say
	MostBytes int64    `json:"most_bytes,omitempty"` // of raw tensors, for each process; 0: none are kept

	Seconds float64 `json:"seconds,omitempty"` // that stacks are sampled for
	Rate    int     `json:"rate,omitempty"`    // of samples, a second
	Content bool    `json:"content,omitempty"` // the file's content is wanted with the answer
}

// States of an answer.
const (
	StateRecording = "recording" // as asked, from FromStep on
	StateAwaiting  = "awaiting"  // a step of such a request
	StateStopped   = "stopped"   // from FromStep on
	StateResumed   = "resumed"   // likewise
	StateRefused   = "refused"   // for the Reason
	StatePending   = "pending"   // the process has not come to a next step yet
	StateBusy      = "busy"      // it has not yet come to a request that was before
	StateListening = "listening" // for a debugger, where the Reason says
	StateSeen      = "seen"      // of a poke; with stacks when the process has written them
	StateUntold    = "untold"    // of a poke: the process has not written its stacks yet
)

// How a person holds a process up, also for some seconds after, in which the other ranks catch up.
const (
	HeldWaiting  = "waits for a debugger"
	HeldAttached = "is in a debugger"
	HeldAtPrompt = "stands at the prompt of pdb"
	HeldSomehow  = "is held up by a person"
)

// Answer is the outcome of a request in one process.
type Answer struct {
	Sequence uint32 `json:"sequence"`
	Rank     uint32 `json:"rank"`
	Host     string `json:"host"`
	PID      uint64 `json:"pid"`
	State    string `json:"state"`
	FromStep uint32 `json:"from_step"`
	Reason   string `json:"reason,omitempty"`
	Payloads string `json:"payloads,omitempty"` // folder of raw tensors on the host
	File     string `json:"file,omitempty"`     // on the host: of a trace
	Content  []byte `json:"content,omitempty"`  // of that file, packed, where it is wanted and not too large

	// Of a poke.
	Step        uint32 `json:"step"`
	Op          string `json:"op,omitempty"` // under way, or the last one; empty when there was none
	SinceNs     int64  `json:"since_ns,omitempty"`
	HeartbeatNs int64  `json:"heartbeat_ns,omitempty"`
	NowNs       int64  `json:"now_ns,omitempty"`        // by the process's clock
	Held        string `json:"held,omitempty"`          // by a person, and how; empty where nobody does
	HeldSinceNs int64  `json:"held_since_ns,omitempty"` // likewise
	IdleSinceNs int64  `json:"idle_since_ns,omitempty"` // since when no step is under way; 0 while one is, or where that is not known
	Dropped     uint64 `json:"dropped,omitempty"`
	Stacks      string `json:"stacks,omitempty"`
}

// TextError says that a request does not fit where a process looks for it.
type TextError struct{ Bytes int }

// Error implements error.
func (e *TextError) Error() string {
	return fmt.Sprintf("the request takes %d bytes, limit %d: give fewer or shorter patterns, or less of the prompt", e.Bytes, schemas.SpoolControlBytes)
}

// Check says whether processes can be given the request at all.
func (r *Request) Check() error {
	text, err := r.text(strings.Repeat("x", longestFolder))
	if err == nil && len(text) > schemas.SpoolControlBytes {
		return &TextError{Bytes: len(text)}
	}
	return err
}

const longestFolder = 512

// text is the request as the process reads it.
func (r *Request) text(folder string) ([]byte, error) {
	asked := map[string]any{"do": r.Do}
	if r.Do == DoCapture {
		asked["level"], asked["steps"] = r.Level, r.Steps
		asked["scope"], asked["requests"] = append([]string{}, r.Scope...), append([]string{}, r.Requests...)
		asked["prompts"], asked["texts"] = append([]uint64{}, r.Prompts...), append([]string{}, r.Texts...)
	}
	if r.When != "" {
		asked["when"] = r.When
	}
	if r.Port > 0 {
		asked["port"] = r.Port
	}
	if r.MostBytes > 0 {
		asked["folder"], asked["most_bytes"] = folder, r.MostBytes
	}
	r.traceText(asked, folder)
	return json.Marshal(asked)
}

// Ask hands a request to every served process of the run, and returns the answers so far. It waits for none.
func (a *Agent) Ask(r *Request) []Answer {
	var answers []Answer
	for _, s := range a.current() {
		if answer, meant := s.ask(r); meant {
			answers = append(answers, answer)
		}
	}
	return answers
}

func (a *Agent) current() []*served {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	all := make([]*served, 0, len(a.served))
	for _, s := range a.served {
		all = append(all, s)
	}
	return all
}

// ask is Ask for one process.
func (s *served) ask(r *Request) (answer Answer, meant bool) {
	s.withHeader(func() { answer, meant = s.answer(r) })
	if r.Content && answer.State == StateTraced { // while nothing waits for it
		answer.Content = packed(answer.File)
	}
	return answer, meant
}

func (s *served) answer(r *Request) (answer Answer, meant bool) {
	if s.admitted == nil || s.admitted.run.RunID != r.RunID {
		return Answer{}, false
	}
	rank := s.admitted.rank.Rank
	if len(r.Ranks) > 0 && !slices.Contains(r.Ranks, int64(rank)) {
		return Answer{}, false
	}
	head := s.header.load()
	answer = Answer{Sequence: r.Sequence, Rank: rank, Host: s.admitted.rank.Host, PID: head.PID}
	if r.Do == DoPoke {
		s.poke(&answer, &head)
		return answer, true
	}
	if err := s.hand(r, &answer); err != nil {
		answer.State, answer.Reason = StateRefused, err.Error()
	}
	return answer, true
}

// control reads both sides of the conversation with the process.
func (h *header) control() (asked schemas.SpoolAsked, answered schemas.SpoolAnswered) {
	asked.Load(h.page)
	answered.Load(h.page)
	return asked, answered
}

// ask writes a request. The checksum shows the process whether the request is whole.
func (h *header) ask(sequence uint32, text []byte) {
	asked, _ := h.control()
	at := schemas.SpoolControlOffset + askedBytes
	copy(h.page[at:at+schemas.SpoolControlBytes], text)
	asked.Length, asked.Checksum = uint32(len(text)), crc32.Checksum(text, crc32.MakeTable(crc32.Castagnoli)) //nolint:gosec // bounded
	asked.Store(h.page)
	binary.LittleEndian.PutUint32(h.page[schemas.SpoolControlOffset:], sequence)
}

func (h *header) poke(number uint32) {
	asked, _ := h.control()
	asked.Poke = number
	asked.Store(h.page)
}

func (h *header) answerText(length uint32) string {
	at := schemas.SpoolAnswerOffset + answeredBytes
	return strings.ToValidUTF8(string(h.page[at:at+min(int(length), schemas.SpoolAnswerBytes)]), "?")
}

// Sizes of the two parts before their texts.
const (
	askedBytes    = 16
	answeredBytes = 20
)
