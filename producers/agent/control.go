package agent

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"slices"
	"strconv"
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
	NowNs       int64  `json:"now_ns,omitempty"` // by the process's clock
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
	case asked.Sequence == r.Sequence && answered.Sequence != r.Sequence:
		answer.State = StatePending
	case asked.Sequence == r.Sequence:
		answer.State, answer.FromStep, answer.Reason = outcome(answered.Outcome), answered.Step, s.header.answerText(answered.Length)
		s.traced(r, answer)
		if answer.State != StateAwaiting && answer.State != StateTracing && answer.State != StateTraced {
			s.remember(answer)
		}
	case asked.Sequence != answered.Sequence:
		answer.State = StateBusy
	default:
		text, err := r.text(s.folderFor(r))
		if err != nil {
			return err
		}
		if len(text) > schemas.SpoolControlBytes {
			return &TextError{Bytes: len(text)}
		}
		s.header.ask(r.Sequence, text)
		answer.State = StatePending
	}
	return nil
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

// poke says where the process is, by its header and, once it has written them, the stacks of its threads.
func (s *served) poke(answer *Answer, head *schemas.SpoolHead) {
	answer.State = StateUntold
	answer.Step, answer.SinceNs, answer.HeartbeatNs = head.Step, head.CurrentTimeNs, head.HeartbeatNs
	answer.NowNs, answer.Dropped = s.cfg.Now().UnixNano()-s.behind.Load(), head.DroppedCount
	if s.poked.op != head.CurrentOp || s.poked.name == "" {
		s.poked.op, s.poked.name = head.CurrentOp, opName(s.in, head.CurrentOp)
	}
	answer.Op = s.poked.name
	asked, answered := s.header.control()
	switch {
	case answered.Poked == answer.Sequence:
		answer.State, answer.Stacks = StateSeen, stacksOf(s.in)
	case asked.Poke != answer.Sequence:
		s.header.poke(answer.Sequence)
	}
}

// opName looks the op up in the file of definitions; empty when there is none of that number.
func opName(in *os.Root, op uint32) string {
	definitions, err := openDefinitions(in)
	if err != nil || op == 0 {
		return ""
	}
	defer definitions.close() //nolint:errcheck // only read
	number := strconv.AppendUint(nil, uint64(op), 10)
	for {
		text, whole, err := definitions.next(-1)
		if err != nil || !whole {
			return ""
		}
		if !bytes.Contains(text, number) { // of many definitions, few are worth reading
			continue
		}
		if d, err := parseDefinition(text); err == nil && d.Kind == "op" && d.ID == op {
			return d.Name
		}
	}
}

// stacksOf reads the stacks that the process has written.
func stacksOf(in *os.Root) string {
	const most = 64 << 10
	file, err := openFile(in, stacksFile, os.O_RDONLY)
	if err != nil {
		return ""
	}
	defer file.Close() //nolint:errcheck // only read
	text, err := io.ReadAll(io.LimitReader(file, most))
	if err != nil {
		return ""
	}
	return strings.ToValidUTF8(string(text), "?")
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
