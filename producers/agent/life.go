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
	behind  time.Duration // of the process's clock behind the agent's, if that is more than noise
	met     bool          // by an agent before, which compared the clocks
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
	// A sign of life is fresh if it came since a look just now, and so, most likely, is that of a process nobody met before. That of one
	// that fell silent before this agent began is as old as the silence.
	if l.at.IsZero() && held && !l.met || seen.heartbeatNs != l.signs.heartbeatNs && now.Sub(l.at) <= 2*cfg.ScanEvery {
		l.compare(now.Sub(time.Unix(0, seen.heartbeatNs)))
	}
	wasHeld := l.held
	l.signs, l.at, l.held = seen, now, held
	return !held && (wasHeld || l.silence >= cfg.DeadAfter)
}

// compare takes in how far the process's clock was behind as it gave a sign of life. What is less than the noise changes
// nothing, so that times that are corrected by it keep their order.
func (l *life) compare(behind time.Duration) {
	const noise = time.Minute
	switch {
	case behind.Abs() < noise:
		l.behind = 0
	case (behind - l.behind).Abs() >= noise:
		l.behind = behind
	}
}
