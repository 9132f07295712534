package agent

import "slices"

// state is all that the rows after a position depend on, besides the records and definitions themselves.
type state struct {
	Position    uint64            `json:"position"`    // records before it are translated
	Definitions int64             `json:"definitions"` // bytes of definitions handed over
	Described   bool              `json:"described"`   // the rows of run and rank are
	Numbers     map[string]uint64 `json:"numbers"`     // next batch of every kind
	Window      uint64            `json:"window"`      // windows published
	Step        *openStep         `json:"step,omitempty"`
	Next        uint32            `json:"next"`     // one more than the last step that was closed
	TimeNs      int64             `json:"time_ns"`  // of the last record that has one
	Programs    []uint64          `json:"programs"` // handed over
	Tallies     []uint64          `json:"tallies,omitempty"`
	Numerals    []uint64          `json:"numerals,omitempty"`  // layouts of numbers that are
	Rivals      int               `json:"rivals,omitempty"`    // processes that say they are this rank, too, as far as rows say so
	Dropped     uint64            `json:"dropped"`             // of the header's count, reported in rows of step
	Behind      int64             `json:"behind_ns,omitempty"` // of the process's clock, by the last sign of life
	Damaged     bool              `json:"damaged,omitempty"`   // the record before the position is
	Adrift      bool              `json:"adrift"`              // records belong to a step without a known beginning
	AdriftCount uint64            `json:"adrift_count"`        // of those
	Sequence    []byte            `json:"sequence,omitempty"`  // the record of the last one
	Closed      bool              `json:"closed"`              // the process's end is reported
	Tensors     uint64            `json:"tensors_total"`       // rows of tensor so far
}

// again is the state as one that may move on while this one stays.
func (s *state) again() *state {
	again := *s
	again.Programs, again.Tallies, again.Numerals = slices.Clone(s.Programs), slices.Clone(s.Tallies), slices.Clone(s.Numerals)
	if again.Step != nil && again.Step.Calls == nil {
		again.Step.Calls = map[uint32]call{}
	}
	return &again
}

// sent says whether an id is among the latest that were handed over before, and notes that it is now.
func sent(before *[]uint64, id uint64, most int) bool {
	if slices.Contains(*before, id) {
		return true
	}
	if len(*before) >= most {
		*before = slices.Delete(*before, 0, most/2)
	}
	*before = append(*before, id)
	return false
}
