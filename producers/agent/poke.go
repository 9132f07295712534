package agent

import (
	"bytes"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/tensortap/tensortap/schemas"
)

// poke says where the process is, by its header and, once it has written them, the stacks of its threads.
func (s *served) poke(answer *Answer, head *schemas.SpoolHead) {
	answer.State = StateUntold
	answer.Step, answer.SinceNs, answer.HeartbeatNs = head.Step+s.first, head.CurrentTimeNs, head.HeartbeatNs
	answer.IdleSinceNs = head.IdleSinceNs
	answer.Held, answer.HeldSinceNs = held(head.Debugged), debuggedSince(head)
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

// held is what the header's word for it means; empty where nobody holds the process up.
func held(debugged uint32) string {
	switch debugged {
	case 0:
		return ""
	case 1:
		return HeldWaiting
	case 2:
		return HeldAttached
	case 3:
		return HeldAtPrompt
	default: // of a later collector
		return HeldSomehow
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
