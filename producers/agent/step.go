package agent

import (
	"slices"
	"strings"

	"github.com/tensortap/tensortap/schemas"
)

const (
	// mostOps bounds the memory of a step that never ends; later ops are not part of its program.
	mostOps = 1 << 20
	// mostPrograms is the number of programs, and tallies, remembered as handed over; a forgotten one is handed over
	// again.
	mostPrograms = 4096
	// mostNumerals is likewise that of layouts of numbers. They are looked through for each number.
	mostNumerals = 512
)

// call is an op under way or done; ordinals as in the definitions.
type call struct {
	Op     uint32 `json:"o"`
	Parent uint32 `json:"p,omitempty"`
	Stack  uint32 `json:"k,omitempty"`
	Seq    uint32 `json:"s"`
	Micro  uint16 `json:"m,omitempty"`
	TimeNs int64  `json:"t"`
}

// openStep is a step that has not ended.
type openStep struct {
	Number  uint32          `json:"number"`
	BeginNs *int64          `json:"begin_ns,omitempty"` // nil when no record said so
	Phase   string          `json:"phase,omitempty"`
	Done    []call          `json:"done,omitempty"` // in the order of completion: the program
	Open    []call          `json:"open,omitempty"` // outermost first
	Calls   map[uint32]call `json:"calls,omitempty"`
	Tensors uint64          `json:"tensors,omitempty"`
	Lost    uint64          `json:"lost,omitempty"`
	Reasons []string        `json:"reasons,omitempty"`
	Tally   []tallied       `json:"tally,omitempty"` // in the order of first calls
	Cut     bool            `json:"cut,omitempty"`   // its program is not known whole
}

func newStep(number uint32) *openStep {
	return &openStep{Number: number, Calls: map[uint32]call{}}
}

// lose counts records that did not become rows.
func (s *openStep) lose(count uint64, reason string) {
	s.Lost += count
	if count > 0 && !slices.Contains(s.Reasons, reason) {
		s.Reasons = append(s.Reasons, reason)
	}
}

// op takes in a record of an op.
func (s *openStep) op(c call, flags uint32) {
	if flags != schemas.SpoolOpEnds {
		s.remember(c)
	}
	switch flags {
	case schemas.SpoolOpOpens:
		s.Open = append(s.Open, c)
	case schemas.SpoolOpEnds:
		s.complete(s.opened(c))
	default:
		s.complete(c)
	}
}

// opened takes the op that ends off those under way. It is mostly the innermost.
func (s *openStep) opened(end call) call {
	for i, c := range slices.Backward(s.Open) {
		if c.Seq == end.Seq && c.Op == end.Op {
			s.Open = slices.Delete(s.Open, i, i+1)
			return c
		}
	}
	return end
}

func (s *openStep) remember(c call) {
	if len(s.Calls) < mostOps {
		s.Calls[c.Seq] = c
	}
}

func (s *openStep) complete(c call) {
	if len(s.Done) >= mostOps {
		s.Cut = true
		return
	}
	s.Done = append(s.Done, c)
}

// abandon completes the ops under way, innermost first, as if they had ended.
func (s *openStep) abandon() {
	for _, c := range slices.Backward(s.Open) {
		s.complete(c)
	}
	s.Open = nil
}

func (s *openStep) dropReason() string { return strings.Join(s.Reasons, "; ") }
