package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tensortap/tensortap/analysis/report"
	"github.com/tensortap/tensortap/internal/plural"
	"github.com/tensortap/tensortap/internal/system"
	"github.com/tensortap/tensortap/producers/agent"
)

// pokePatience is a few beats of the processes' hearts, which answer.
const pokePatience = 4 * time.Second

func newPoke(a *app) *cobra.Command {
	k := asking{request: agent.Request{Do: agent.DoPoke}}
	var output string
	cmd := &cobra.Command{
		Use:   "poke --run NAME",
		Short: "Show where each rank of a live run is right now",
		Long: `Show where each rank of a live run is right now: its step, the op that began last and its
time, the last sign of life, whether a person holds it up, as in a debugger, and the
Python stack of the main thread, innermost frame first. A rank without a stack runs no
Python: code that holds Python's lock hangs, or the process is stopped.

Exit status: 0 every rank answered, 2 some rank did not, or an error.`,
		Example: `  tensortap poke --run bad
  tensortap poke --run bad --rank 3 --output json     with the stacks of all threads`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			format, err := textOrJSON(output)
			if err != nil {
				return err
			}
			asked, err := a.askRun(cmd.Context(), &k)
			if err != nil {
				return err
			}
			return a.tellPoked(&k, &asked, format)
		},
	}
	k.flags(a, cmd, pokePatience)
	addTextOrJSON(cmd, &output)
	return cmd
}

func (a *app) tellPoked(k *asking, asked *system.Asked, format report.Format) error {
	if format == report.JSON {
		if err := json.NewEncoder(a.stdout).Encode(asked); err != nil {
			return err
		}
	}
	for i := range asked.Answers {
		if format != report.JSON {
			fmt.Fprintln(a.stdout, poked(&asked.Answers[i]))
		}
	}
	for _, rank := range asked.Silent {
		fmt.Fprintln(a.stderr, k.silent(rank))
	}
	if open := asked.Open(); open > 0 {
		return fmt.Errorf("%[3]d of %[1]d ranks of run %[2]s did not answer in full: see above", len(asked.Answers)+len(asked.Silent), k.run, open)
	}
	return nil
}

// poked describes a rank's answer, for people.
func poked(answer *agent.Answer) string {
	now := time.Unix(0, answer.NowNs)
	text := fmt.Sprintf("%s is in step %d\n", who(answer), answer.Step)
	if answer.IdleSinceNs > 0 {
		text += fmt.Sprintf("  idle          no step is under way since %s ago\n", since(now, answer.IdleSinceNs))
	}
	if answer.Op != "" {
		text += fmt.Sprintf("  last op       %s, begun %s ago\n", report.Printable(answer.Op), since(now, answer.SinceNs))
	}
	text += fmt.Sprintf("  sign of life  %s ago", since(now, answer.HeartbeatNs))
	if answer.Held != "" {
		text += fmt.Sprintf("\n  held up       it %s, for %s", answer.Held, since(now, answer.HeldSinceNs))
	}
	if answer.Dropped > 0 {
		text += fmt.Sprintf("\n  dropped       %s", plural.Of(answer.Dropped, "record"))
	}
	return text + mainStack(answer.Stacks)
}

func since(now time.Time, ns int64) time.Duration {
	return max(0, now.Sub(time.Unix(0, ns))).Round(time.Millisecond)
}

// mainStack is the innermost frames of the first thread.
func mainStack(stacks string) string {
	const most = 20
	first, _, _ := strings.Cut(stacks, "\n\n")
	if first == "" {
		return "\n  no Python stack: the process runs no Python code at all"
	}
	var text strings.Builder
	lines := strings.Split(strings.TrimRight(first, "\n"), "\n")
	for i, line := range lines {
		if i > most {
			fmt.Fprintf(&text, "\n      and %d more", len(lines)-i)
			break
		}
		text.WriteString("\n  " + report.Printable(line))
	}
	return text.String()
}
