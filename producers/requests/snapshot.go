package requests

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/tensortap/tensortap/producers/internal/batch"
	"github.com/tensortap/tensortap/schemas"
)

// snapshot is what a scheduler of SGLang writes when it fails.
type snapshot struct {
	Reason    string         `json:"reason"`
	Timestamp float64        `json:"timestamp"`
	Hostname  string         `json:"hostname"`
	PID       int64          `json:"pid"`
	Scheduler map[string]any `json:"scheduler"`
	Traceback string         `json:"traceback"`
}

func isSnapshot(text []byte) bool {
	text = bytes.TrimSpace(text)
	return bytes.HasPrefix(text, []byte("{")) && readSnapshot(text) != nil
}

func readSnapshot(text []byte) *snapshot {
	var s snapshot
	if err := json.Unmarshal(text, &s); err != nil || s.Reason == "" || s.Scheduler == nil {
		return nil
	}
	return &s
}

// number is a value of the scheduler; absent where it is none.
func (s *snapshot) number(name string) (uint32, bool) {
	n, ok := s.Scheduler[name].(float64)
	return uint32(max(0, min(n, math.MaxUint32))), ok && n >= 0
}

// rank is the place in the tensor-parallel group, by which SGLang numbers its schedulers.
func (s *snapshot) rank() uint32 {
	rank, ok := s.number("tp_rank")
	if !ok {
		return schemas.NoRank
	}
	return rank
}

const mostMessage = 8 << 10

// message is the last line of the traceback, the process and its counts, and then the traceback.
func (s *snapshot) message() string {
	trace := strings.TrimSpace(s.Traceback)
	facts := []string{trace[strings.LastIndexByte(trace, '\n')+1:], fmt.Sprintf("pid %d on %s", s.PID, s.Hostname)}
	for _, name := range []string{"num_running_reqs", "waiting_queue_len", "max_total_num_tokens"} {
		if n, ok := s.number(name); ok {
			facts = append(facts, name+" "+strconv.FormatUint(uint64(n), 10))
		}
	}
	text := strings.Join(facts, ", ") + "\n" + trace
	return valid(text[:min(len(text), mostMessage)])
}

// addSnapshot is the failure of the scheduler.
func (s *source) addSnapshot(out *batch.Set) error {
	told := s.file.snapshot
	if told == nil {
		return nil
	}
	id := s.Identity()
	step, _ := told.number("forward_ct")
	row := schemas.FailureRow{
		RunID: id.RunID, Rank: id.Rank, Epoch: id.Epoch, EventTimeNs: s.EventTimeNs, Step: step, Type: valid(told.Reason), Message: told.message(),
	}
	if at := seconds(told.Timestamp); at > 0 {
		row.EventTimeNs = nanoseconds(at)
	}
	return out.AddFailure(&row)
}
