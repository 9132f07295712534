package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/tensortap/tensortap/analysis/report"
	"github.com/tensortap/tensortap/internal/plural"
	"github.com/tensortap/tensortap/internal/system"
	"github.com/tensortap/tensortap/producers/agent"
)

// asking is shared by the commands to living processes.
type asking struct {
	run      string
	request  agent.Request
	patience time.Duration
}

func (k *asking) flags(a *app, cmd *cobra.Command, patience time.Duration) {
	f := cmd.Flags()
	f.StringVar(&k.run, "run", "", "name of the run (required)")
	f.Int64SliceVar(&k.request.Ranks, "rank", nil, "only this `RANK`; may be given again; by default all")
	f.Lookup("rank").DefValue = "" // help would say []
	f.DurationVar(&k.patience, "timeout", patience, "longest wait for the ranks")
	_ = cmd.MarkFlagRequired("run")
	a.completeRunFlags(cmd, "run")
}

// askRun asks the processes, and waits for their answers.
func (a *app) askRun(ctx context.Context, k *asking) (system.Asked, error) {
	client, err := a.connectStream()
	if err != nil {
		return system.Asked{}, err
	}
	defer client.Close()
	return client.Ask(ctx, k.run, k.request, k.patience)
}

// tellAsked prints the answer of each rank, and is an error unless all do as they were asked.
func (a *app) tellAsked(k *asking, asked *system.Asked) error {
	declined := 0
	for i := range asked.Answers {
		answer := &asked.Answers[i]
		fmt.Fprintf(a.stdout, "%s %s\n", who(answer), k.became(answer))
		if answer.State == agent.StateRefused {
			declined++
		}
	}
	for _, rank := range asked.Silent {
		fmt.Fprintln(a.stdout, k.silent(rank))
	}
	if declined += asked.Open(); declined > 0 {
		return fmt.Errorf("%d of %s of run %s did not do as asked: see above", declined, plural.Of(len(asked.Answers)+len(asked.Silent), "rank"), k.run)
	}
	return nil
}

func who(answer *agent.Answer) string {
	return fmt.Sprintf("rank %d, process %d on %s,", answer.Rank, answer.PID, report.Printable(answer.Host))
}

// silent is the text for a living rank that no agent answered for.
func (k *asking) silent(rank uint32) string {
	return fmt.Sprintf("rank %d: no agent answered for it within %v", rank, k.patience)
}

// became describes, in words, a process's answer to a request.
func (k *asking) became(answer *agent.Answer) string {
	switch answer.State {
	case agent.StateRecording:
		text := fmt.Sprintf("records at level %s from step %d on", k.request.Level, answer.FromStep)
		if answer.Payloads != "" {
			text += ", raw tensors below " + report.Printable(answer.Payloads)
		}
		return text
	case agent.StateAwaiting:
		if k.request.When != "" {
			return "will record steps that fulfil " + report.Printable(k.request.When)
		}
		if len(k.request.Requests)+len(k.request.Prompts)+len(k.request.Texts) == 0 {
			return fmt.Sprintf("will record at level %s from its next step on, which has not begun", k.request.Level)
		}
		return "will record steps that have such a request"
	case agent.StateStopped:
		return fmt.Sprintf("records nothing from step %d on", answer.FromStep)
	case agent.StateResumed:
		return fmt.Sprintf("records again from step %d on", answer.FromStep)
	case agent.StateListening:
		return "listens for a debugger at " + report.Printable(answer.Reason)
	case agent.StateRefused:
		return "refuses: " + report.Printable(answer.Reason)
	case agent.StateBusy:
		return fmt.Sprintf("has not come to a request from before within %v", k.patience)
	default:
		return fmt.Sprintf("did not come to a next step within %v; it will do as asked when it does", k.patience)
	}
}
