package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"strings"

	"github.com/tensortap/tensortap/schemas"
)

// doTell hands a process a sentence for its own standard error, and with final that nobody will ever take its records.
const doTell = "tell"

const reasonRival = "another process says that it is this rank, too: none of its records is published"

// refused tells the process itself why it is not admitted: who started it may see nothing of this agent. One that lives while another
// is this rank is refused for good, since its steps would replace those of the other one later.
func (s *served) refused(ctx context.Context, why error) error {
	if ctx.Err() != nil { // nobody has refused it: the agent ends before the stream has answered
		return fmt.Errorf("%s: %w", s.title(), why)
	}
	rival := s.agent.rivalOf(s) // its process; 0 when there is none here
	text := "nothing of this process is published: " + why.Error()
	if rival != 0 {
		text = fmt.Sprintf("nothing of this process is published: process %d is rank %d of run %s, and lives; start this one under another name, or give each a rank of its own",
			rival, s.start.Rank, s.about.run.Name)
		why = errors.Join(why, s.cfg.Stream.Refuse(ctx, s.start))
	}
	s.withHeader(func() { s.header.tellProcess(text, rival != 0) })
	return fmt.Errorf("%s: %w", s.title(), why)
}

// rivalOf is the process that lives as the rank of this one, which lives, too; 0 when there is none here.
func (a *Agent) rivalOf(s *served) (pid uint64) {
	if s.start.Apart || !s.lives() { // apart, it takes nobody's place
		return 0
	}
	for _, other := range a.current() {
		if pid = other.claimedBy(s); other != s && pid != 0 {
			return pid
		}
	}
	return 0
}

func (s *served) lives() (lives bool) {
	s.withHeader(func() { lives = s.header.load().State == stateRunning && s.header.isHeld() })
	return lives
}

// claimedBy notes that another process says it is this rank, if it does and this one lives, which is its PID then.
func (s *served) claimedBy(other *served) (pid uint64) {
	s.withHeader(func() {
		if s.admitted == nil || s.admitted.run.RunID != other.start.RunID || s.admitted.rank.Rank != other.start.Rank {
			return
		}
		if head := s.header.load(); head.State == stateRunning && s.header.isHeld() {
			pid = head.PID
			s.rivals[other.start.Epoch] = true
		}
	})
	return pid
}

func (s *served) countRivals() int {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return len(s.rivals)
}

// refusedBeside reports processes that say they are this rank, too, once there are more of them than before.
func (t *translator) refusedBeside(rivals int) error {
	if rivals <= t.Rivals {
		return nil
	}
	more := rivals - t.Rivals
	t.Rivals = rivals
	return t.droppedBetween(t.TimeNs, uint64(more), reasonRival) //nolint:gosec // positive
}

// tellProcess writes a sentence where the process looks for requests, whose text it fits.
func (h *header) tellProcess(sentence string, final bool) {
	const most = schemas.SpoolControlBytes / 4 // a letter may take more bytes as JSON
	told := map[string]any{"do": doTell, "text": strings.ToValidUTF8(sentence[:min(len(sentence), most)], ""), "final": final}
	text, err := json.Marshal(told)
	sequence := crc32.ChecksumIEEE(text) | 1
	if asked, _ := h.control(); err == nil && asked.Sequence != sequence {
		h.ask(sequence, text)
	}
}
