package report

import (
	"fmt"
	"slices"
	"strings"
)

// Hidden is a part of a model that ran where no hook is called, so that nothing of its inside was recorded.
type Hidden struct {
	Reason   string `json:"reason"`              // compiled, or cuda graph
	Subject  string `json:"subject"`             // path of the part; empty where it is not known
	Ranks    int    `json:"rank_count"`          // that ran it so
	Steps    int    `json:"step_count"`          // of all ranks, in which it ran so
	Recorded int    `json:"recorded_step_count"` // of those ranks, whether it ran so or not
}

// HiddenParts are those of both runs of a comparison.
type HiddenParts struct {
	Problem []Hidden `json:"problem"`
	Bench   []Hidden `json:"bench"`
}

// Hides says of a reason of unseen rows that a part of a model ran where no hook is called.
func Hides(reason string) bool { return reason == "compiled" || reason == "cuda graph" }

// HiddenWords says in one sentence which parts were hidden, and in how many steps; empty where none was.
func HiddenWords(parts []Hidden) string {
	const most = 4
	var said []string
	for i := range parts[:min(most, len(parts))] {
		said = append(said, parts[i].words())
	}
	if more := len(parts) - most; more > 0 {
		said = append(said, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(said, "; ")
}

func (h *Hidden) words() string {
	how := map[string]string{"compiled": "as compiled code", "cuda graph": "as a CUDA graph"}[h.Reason]
	name := "a part of the model"
	if h.Subject != "" {
		name = Printable(h.Subject)
	}
	return fmt.Sprintf("%s ran %s in %d of %d steps", name, how, h.Steps, h.Recorded)
}

// hiddenParts are those of both runs, never null.
func (c *Comparison) hiddenParts() HiddenParts {
	return HiddenParts{Problem: append([]Hidden{}, c.Recorded[0].Hidden...), Bench: append([]Hidden{}, c.Recorded[1].Hidden...)}
}

// hidden says what no hook saw of either run.
func (n *note) hidden() {
	problem, bench := n.Recorded[0].Hidden, n.Recorded[1].Hidden
	label := "hidden"
	for _, side := range []struct {
		name  string
		parts []Hidden
	}{{"problem", problem}, {"bench", bench}} {
		words := HiddenWords(side.parts)
		if slices.Equal(problem, bench) {
			side.name = "both"
		}
		if words == "" || label == "" && side.name == "both" {
			continue
		}
		n.line(label, "%s: %s; nothing of its inside was recorded", side.name, words)
		label = ""
	}
}

// anyHidden says whether something of either run was hidden.
func (c *Comparison) anyHidden() bool { return len(c.Recorded[0].Hidden)+len(c.Recorded[1].Hidden) > 0 }

// eagerly says how to record what was hidden.
func (a *advice) eagerly() {
	problem, bench := len(a.Recorded[0].Hidden) > 0, len(a.Recorded[1].Hidden) > 0
	switch {
	case problem && bench:
		a.say("record both again with %s run --eager, to see inside of what was hidden; what differs no more then came of compiled code or a graph", a.style.program())
	case problem:
		a.say("record %s again with %s run --eager, as bench %s shows what is hidden of it", a.ProblemArgument, a.style.program(), a.BenchArgument)
	case bench:
		a.say("record %s again with %s run --eager, as problem %s shows what is hidden of it", a.BenchArgument, a.style.program(), a.ProblemArgument)
	}
}
