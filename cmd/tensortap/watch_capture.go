package main

import (
	"context"
	"fmt"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/tensortap/tensortap/analysis/report"
	"github.com/tensortap/tensortap/producers/agent"
)

// captor asks both runs of a watch for detail, once, where they diverge first.
type captor struct {
	app   *app
	runs  [2]string
	group errgroup.Group // the captures asked for, while the watch goes on
	done  bool
}

// saw gets every event of the watch, one at a time.
func (c *captor) saw(ctx context.Context, e *report.WatchEvent) {
	if c.done || e.Event != "divergence" {
		return
	}
	c.done = true
	for _, run := range c.runs {
		k := asking{run: run, patience: capturePatience, request: agent.Request{
			Do: agent.DoCapture, Level: "mix", Steps: 2, MostBytes: payloadBytes, Ranks: []int64{*e.Rank},
		}}
		if e.Module != "" {
			k.request.Scope = []string{literalPattern(e.Module)}
		}
		c.group.Go(func() error {
			c.capture(ctx, &k)
			return nil
		})
	}
}

// capture asks one of the runs. A failure changes nothing of the watch's result.
func (c *captor) capture(ctx context.Context, k *asking) {
	asked, err := c.app.askRun(ctx, k)
	if err != nil {
		fmt.Fprintln(c.app.stderr, "capture:", printable(err))
		return
	}
	for i := range asked.Answers {
		answer := &asked.Answers[i]
		fmt.Fprintf(c.app.stderr, "capture: run %s, %s %s\n", report.Printable(k.run), who(answer), k.became(answer))
	}
	for _, rank := range asked.Silent {
		fmt.Fprintf(c.app.stderr, "capture: run %s, %s\n", report.Printable(k.run), k.silent(rank))
	}
}

// wait returns when both have been asked.
func (c *captor) wait() { _ = c.group.Wait() }

// literalPattern is the pattern that only this path fits.
func literalPattern(path string) string {
	return strings.NewReplacer("[", "[[]", "*", "[*]", "?", "[?]").Replace(path)
}
