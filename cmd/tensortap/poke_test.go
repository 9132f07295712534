package main

import (
	"strings"
	"testing"
	"time"

	"github.com/tensortap/tensortap/producers/agent"
)

func TestPokeShowsThatARankIsInADebugger(t *testing.T) {
	t.Parallel()
	answer := agent.Answer{NowNs: int64(time.Minute), HeldSinceNs: int64(48 * time.Second), Held: agent.HeldAttached}
	if text := poked(&answer); !strings.Contains(text, "\n  held up       it is in a debugger, for 12s\n") {
		t.Error(text)
	}
	answer.Held = ""
	if text := poked(&answer); strings.Contains(text, "held up") {
		t.Error(text)
	}
}
