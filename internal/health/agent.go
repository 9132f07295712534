package health

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tensortap/tensortap/analysis/judging"
	"github.com/tensortap/tensortap/producers/agent"
)

func agentNumbers() []number[agent.Counts] {
	return []number[agent.Counts]{
		gauge("agent_processes", "Processes that the agent serves.", func(c *agent.Counts) float64 { return float64(c.Processes.Load()) }),
		counter("agent_messages", "Messages of the agent that the stream acknowledged.", func(c *agent.Counts) float64 { return float64(c.Messages.Load()) }),
		counter("agent_published_rows", "Rows of the messages of the agent that the stream acknowledged.", func(c *agent.Counts) float64 { return float64(c.Rows.Load()) }),
		counter("agent_tensor_rows", "Rows of tensors in the messages of the agent that the stream acknowledged.", func(c *agent.Counts) float64 { return float64(c.Tensors.Load()) }),
		counter("agent_dropped_records", "Records that processes could not keep, as their spool was full: lost.", func(c *agent.Counts) float64 { return float64(c.Dropped.Load()) }),
		counter("agent_skipped_records", "Records that processes had reserved and never wrote: lost.", func(c *agent.Counts) float64 { return float64(c.Skipped.Load()) }),
		counter("agent_damaged_records", "Definitions and records that could not be read: lost.", func(c *agent.Counts) float64 { return float64(c.Damaged.Load()) }),
		counter("agent_failures", "Times that the folder of a process could not be served; it is tried again.", func(c *agent.Counts) float64 { return float64(c.Failures.Load()) }),
		counter("agent_let_go_spools", "Folders of processes that nobody served and that went by the rules of retention, with the events in them: lost.", func(c *agent.Counts) float64 { return float64(c.LetGo.Load()) }),
		counter("agent_let_go_bytes", "Bytes on the disk of folders of processes that went by the rules of retention: lost.", func(c *agent.Counts) float64 { return float64(c.LetGoBytes.Load()) }),
	}
}

// spools is what waits on the host.
type spools struct{ folders, bytes, seconds float64 }

func spoolNumbers() []number[spools] {
	return []number[spools]{
		gauge("agent_spools", "Folders of processes that are not published whole.", func(s *spools) float64 { return s.folders }),
		gauge("agent_spool_bytes", "Bytes on the disk of folders of processes that are not published whole.", func(s *spools) float64 { return s.bytes }),
		gauge("agent_waiting_seconds", "For how long the oldest record waits that the stream has not acknowledged; 0 when none does.", func(s *spools) float64 { return s.seconds }),
	}
}

// Agent takes the agent of this host.
func (h *Health) Agent(a *agent.Agent) {
	h.has("agent", func(_ context.Context, tell func(prometheus.Metric)) {
		tellEach(tell, agentNumbers(), a.Counts())
		folders, bytes := a.Kept()
		tellEach(tell, spoolNumbers(), &spools{float64(folders), float64(bytes), a.Waiting().Seconds()})
	})
}

type judged = judging.Snapshot

func judgeNumbers() []number[judged] {
	return []number[judged]{
		gauge("judge_comparisons", "Comparisons that stand, be they this judge's or another's.", func(s *judged) float64 { return float64(s.Standing) }),
		gauge("judge_failing_comparisons", "Comparisons that this judge could not judge at its last try.", func(s *judged) float64 { return float64(s.Failing) }),
		gauge("judge_waiting_steps", "Steps of ranks of this judge's comparisons that are not yet ready to be judged: one side has not ended them.", func(s *judged) float64 { return float64(s.Waiting) }),
		counter("judge_steps", "Steps of ranks that this judge has judged.", func(s *judged) float64 { return float64(s.Judged) }),
		counter("judge_provisional_steps", "Steps of ranks judged though they were not whole.", func(s *judged) float64 { return float64(s.Provisional) }),
		counter("judge_failures", "Times that a comparison could not be judged; it is tried again.", func(s *judged) float64 { return float64(s.Failures) }),
		counter("judge_busy_seconds", "Time that this judge spent on reading and judging.", func(s *judged) float64 { return s.Busy.Seconds() }),
	}
}
