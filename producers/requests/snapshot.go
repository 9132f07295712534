package requests

import (
	"bytes"
	"encoding/json"
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

// message is the last line of the traceback, the counts of the scheduler, and the rest.
func (s *snapshot) message() string {
	var counts []string
	for _, name := range []string{"num_running_reqs", "waiting_queue_len", "max_total_num_tokens"} {
		if n, ok := s.number(name); ok {
			counts = append(counts, name+" "+strconv.FormatUint(uint64(n), 10))
		}
	}
	text := strings.Join(counts, ", ") + "\n" + s.Traceback
	return valid(text[:min(len(text), mostMessage)])
}

// addSnapshot is the failure of the scheduler, and its process.
func (s *source) addSnapshot(out *batch.Set) error {
	told := s.file.snapshot
	if told == nil {
		return nil
	}
	id := s.identity()
	pid := told.PID
	rank := schemas.RankRow{
		RunID: id.RunID, Rank: id.Rank, Epoch: id.Epoch, Host: valid(told.Hostname), PID: &pid, SourceName: "proc" + strconv.FormatInt(pid, 10),
		TP: told.place("tp_rank"), PP: told.place("pp_rank"), DP: -1, CP: -1, EP: -1, TPSize: -1, PPSize: -1, DPSize: -1, CPSize: -1, EPSize: -1,
	}
	if id.Rank != schemas.NoRank {
		if err := batch.Add(out, out.Rank, &rank, len(rank.Host)); err != nil {
			return err
		}
	}
	step, _ := told.number("forward_ct")
	row := schemas.FailureRow{
		RunID: id.RunID, Rank: id.Rank, Epoch: id.Epoch, EventTimeNs: s.eventTimeNs, Step: step, Type: valid(told.Reason), Message: told.message(),
	}
	if at := seconds(told.Timestamp); at > 0 {
		row.EventTimeNs = nanoseconds(at)
	}
	return out.AddFailure(&row)
}

func (s *snapshot) place(name string) int16 {
	n, ok := s.number(name)
	if !ok || n > math.MaxInt16 {
		return -1
	}
	return int16(n) //nolint:gosec // just bounded
}
