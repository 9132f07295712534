// Command demo is the ranks of the profile demo of the compose file: two runs of four ranks, good and bad. What is wrong with bad
// is in faults.go; it is what each panel of Grafana's dashboards shows. Ranks write spools as the collector does, and an agent
// publishes them.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := work(ctx, os.Args[1:], os.Getenv); err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

// work is one of the runs: good until all of it is published, bad until it is stopped, as its ranks hang.
func work(ctx context.Context, arguments []string, getenv func(string) string) error {
	if len(arguments) != 1 || arguments[0] != "good" && arguments[0] != "bad" {
		return errors.New("want one argument, good or bad: which of the two runs")
	}
	root := getenv("TENSORTAP_SPOOL")
	if root == "" {
		return errors.New("TENSORTAP_SPOOL is not set: want the root of the spools that the agent serves")
	}
	j := &job{root: root, bad: arguments[0] == "bad"}
	defer j.keeper.End()
	if err := j.train(); err != nil {
		return err
	}
	if !j.bad {
		return j.awaitAgent(ctx)
	}
	if err := sendDamaged(ctx, getenv); err != nil {
		return err
	}
	j.live(ctx)
	return nil
}
