package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tensortap/tensortap/analysis/report"
	"github.com/tensortap/tensortap/internal/system"
)

// wantedLines has the flags of logs.
type wantedLines struct {
	run, level, request, around, grep string
	rank                              int64
	follow                            bool
}

func newLogs(a *app) *cobra.Command {
	var w wantedLines
	cmd := &cobra.Command{
		Use:   "logs --run NAME",
		Short: "Show what the processes of a run wrote",
		Long: `Show what the processes of a run wrote, from any host: the output of the Python processes
below tensortap run, and the logs that were published beside the run, with time (UTC), rank,
process and stream of each line. A process without a rank has a dash. A traceback is shown
whole, where it began.

Lines of a run that never reached a stream are read on the machine on which it ran.`,
		Example: `  tensortap logs --run bad
  tensortap logs --run bad --rank 3 --level warning
  tensortap logs --run bad --around 120
  tensortap logs --run bad --around '2026-11-21 10:03:10' --grep 'CUDA|NCCL'
  tensortap logs --run bad --request cmpl-b1ff55cd65dc7999-0
  tensortap logs --run bad --follow`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.logs(cmd.Context(), w) },
	}
	f := cmd.Flags()
	f.StringVar(&w.run, "run", "", "name of the run (required)")
	f.Int64Var(&w.rank, "rank", anyRank, "only the processes of this rank; -1 for all")
	f.StringVar(&w.level, "level", "", "only lines of this level and above: debug, info, warning, error, critical; a line without one is of info")
	f.StringVar(&w.request, "request", "", "only lines that name this request")
	f.StringVar(&w.around, "around", "", "only lines from a second before to a second behind this step, or within 30 seconds of this `TIME` (UTC)")
	f.StringVar(&w.grep, "grep", "", "only lines that match this regular expression")
	f.BoolVar(&w.follow, "follow", false, "go on with lines as they come, until Ctrl-C")
	_ = cmd.MarkFlagRequired("run")
	a.completeRunFlags(cmd, "run")
	return cmd
}

func (w *wantedLines) check() error {
	switch w.level {
	case "", "debug", "info", "warning", "error", "critical":
		return nil
	}
	return fmt.Errorf("--level %s: want debug, info, warning, error or critical", w.level)
}

// logs shows lines of the tables or, where the run has none there, of this machine.
func (a *app) logs(ctx context.Context, w wantedLines) error {
	if err := w.check(); err != nil {
		return err
	}
	stored := false
	err := a.ask(ctx, func(ctx context.Context, client *system.Client) (err error) {
		if stored, err = client.HasLines(ctx, w.run); err != nil || !stored {
			return err
		}
		return a.storedLines(ctx, client, w)
	})
	if err != nil && !errors.Is(err, system.ErrNotRunning) || stored {
		return err
	}
	return a.keptLines(ctx, w.run, w.rank)
}

func (a *app) storedLines(ctx context.Context, client *system.Client, w wantedLines) error {
	if err := a.checkSpeaker(ctx, client, w); err != nil {
		return err
	}
	parameters, err := w.parameters(ctx, client)
	if err != nil {
		return err
	}
	shown := &showing{app: a}
	if w.follow {
		shown.seen = map[string]int64{}
	}
	for {
		if err := client.Lines(ctx, parameters, shown.line); err != nil || !w.follow {
			return err
		}
		if shown.last > 0 {
			parameters["from_time_ns"] = strconv.FormatInt(shown.forget(), 10)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(time.Second):
		}
		if err := client.WaitCurrent(ctx); err != nil {
			return err
		}
	}
}

// checkSpeaker refuses a rank of which there is no line.
func (a *app) checkSpeaker(ctx context.Context, client *system.Client, w wantedLines) error {
	if w.rank == anyRank || w.follow {
		return nil
	}
	table, err := client.Table(ctx, `SELECT count() > 0 FROM tap.logs WHERE run_id = xxh3(concat({run:String}, char(31))) AND rank = {rank:UInt32}`,
		map[string]string{"run": w.run, "rank": strconv.FormatInt(w.rank, 10)})
	if err == nil && table.Rows[0][0].Number == 0 {
		err = fmt.Errorf("--rank %d: no process that wrote lines is that rank of run %s; leave out --rank to see all", w.rank, report.Printable(w.run))
	}
	return err
}

func (w *wantedLines) parameters(ctx context.Context, client *system.Client) (map[string]string, error) {
	parameters := map[string]string{
		"run": w.run, "rank": strconv.FormatInt(w.rank, 10), "level": w.level, "request": w.request, "grep": w.grep,
	}
	if w.around == "" {
		return parameters, nil
	}
	from, to, err := w.span(ctx, client)
	parameters["from_time_ns"], parameters["to_time_ns"] = strconv.FormatInt(from, 10), strconv.FormatInt(to, 10)
	return parameters, err
}

const aroundTime = 30 * time.Second

// span is around a step or a time.
func (w *wantedLines) span(ctx context.Context, client *system.Client) (from, to int64, err error) {
	if step, err := strconv.ParseUint(w.around, 10, 32); err == nil {
		from, to, err := client.AroundStep(ctx, w.run, uint32(step))
		if err == nil && to == 0 {
			err = fmt.Errorf("--around %d: run %s has no such step", step, report.Printable(w.run))
		}
		return from, to, err
	}
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02 15:04:05", "2006-01-02T15:04:05", "2006-01-02 15:04"} {
		if at, err := time.Parse(layout, w.around); err == nil {
			return at.Add(-aroundTime).UnixNano(), at.Add(aroundTime).UnixNano(), nil
		}
	}
	return 0, 0, fmt.Errorf("--around %s: want a step, or a time as 2026-11-21 10:03:10", w.around)
}

// showing prints lines, each once: those that come late are looked for again.
type showing struct {
	app  *app
	seen map[string]int64 // times of the last lines; nil where each comes once
	last int64

	printed repetitions
}

const lateness = 10 * time.Second // of lines that are stored behind later ones

// forget forgets lines before the time that it returns, from which lines are asked for again.
func (s *showing) forget() int64 {
	from := s.last - int64(lateness)
	for key, at := range s.seen {
		if at < from {
			delete(s.seen, key)
		}
	}
	return from
}

func (s *showing) line(l *system.SpokenLine) error {
	if s.printed.repeats(l) {
		return nil
	}
	if s.seen == nil {
		return s.app.printLine(l)
	}
	key := fmt.Sprint(l.TimeNs, l.Host, l.Stream, l.Seq)
	if l.PID != nil {
		key += fmt.Sprint(" ", *l.PID)
	}
	if _, known := s.seen[key]; known {
		return nil
	}
	s.seen[key], s.last = l.TimeNs, max(s.last, l.TimeNs)
	return s.app.printLine(l)
}

func (a *app) printLine(l *system.SpokenLine) error {
	prefix := spokenPrefix(l)
	text := l.Text
	if first, _, _ := strings.Cut(l.Exception, "\n"); first != "" {
		text = l.Exception
		if !strings.HasSuffix(l.Text, first) && !strings.HasSuffix(l.Exception, l.Text) {
			text = l.Text + "\n" + l.Exception
		}
	}
	for line := range strings.SplitSeq(text, "\n") {
		if _, err := fmt.Fprintln(a.stdout, prefix+report.Printable(line)); err != nil {
			return err
		}
	}
	return nil
}

func spokenPrefix(l *system.SpokenLine) string {
	rank, pid := "-", "-"
	if l.Rank != nil {
		rank = strconv.FormatUint(uint64(*l.Rank), 10)
	}
	if l.PID != nil {
		pid = strconv.FormatInt(*l.PID, 10)
	}
	of := time.Unix(0, l.TimeNs).UTC().Format(time.DateTime) + " rank " + rank + " pid " + pid
	if l.Role != "" {
		of += " " + report.Printable(l.Role)
	}
	return of + " " + report.Printable(l.Stream) + " | "
}
