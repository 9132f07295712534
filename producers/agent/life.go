package agent

import (
	"time"

	"github.com/tensortap/tensortap/schemas"
)

// life is what an agent knows of whether a process lives. It rests on what changes and on the lock that the process
// holds: clocks of two processes may be hours apart.
type life struct {
	signs   signs
	at      time.Time     // of the last look
	silence time.Duration // in which the signs stayed the same
	held    bool          // the lock was seen to be held: once it is not, the process is gone
}

// signs are the fields of the header that only a living process changes.
type signs struct {
	heartbeatNs, currentNs int64
	segment, step          uint32
}

// isOver looks at the process, and says whether it is gone.
func (l *life) isOver(head *schemas.SpoolHead, held bool, now time.Time, cfg *Config) bool { //nolint:revive // flag-parameter: a fact about the process
	seen := signs{heartbeatNs: head.HeartbeatNs, currentNs: head.CurrentTimeNs, segment: head.NextSegment, step: head.Step}
	if held || seen != l.signs || l.at.IsZero() {
		l.silence = 0
	} else {
		// An agent that was itself stopped heard nothing, and would take that for silence.
		l.silence += min(now.Sub(l.at), 2*cfg.ScanEvery)
	}
	wasHeld := l.held
	l.signs, l.at, l.held = seen, now, held
	return !held && (wasHeld || l.silence >= cfg.DeadAfter)
}
