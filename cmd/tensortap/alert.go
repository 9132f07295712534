package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tensortap/tensortap/consumers/alerts"
	"github.com/tensortap/tensortap/consumers/alerts/receiver"
	"github.com/tensortap/tensortap/internal/system"
	"github.com/tensortap/tensortap/sql"
)

// alertsVariable names the file that says who is told of alerts.
const alertsVariable = "TENSORTAP_ALERTS"

func newAlert(a *app) *cobra.Command {
	var file string
	cmd := choice(&cobra.Command{
		Use:   "alert",
		Short: "Tell people of divergence, NaN, hangs and full disks, until Ctrl-C",
		Long: `Ask the alert rules again and again, store what fires and is resolved, and tell the
receivers of --config, until Ctrl-C. Receivers are Alertmanager, webhooks of Slack, e-mail
and commands. tensortap up --alerts FILE has the same inside. Of several such roles one is
at work at a time; if it is killed, another takes over within ten seconds, and nothing is
forgotten. docs/alerts.md has the rules and the form of the file.`,
		Example: `  tensortap alert --config alerts.yaml
  tensortap alert test first-divergence --config alerts.yaml
  tensortap alert list
  tensortap alert silence set run=nightly --for 2h --because "known, see the ticket"`,
	}, "command", newAlertList(a), newAlertTest(a, &file), newAlertSilence(a))
	cmd.PersistentFlags().StringVar(&file, "config", "", "file that says who is told of what (also "+alertsVariable+"); without one, alerts are only stored")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		cfg, err := a.alertConfig(file)
		if err != nil {
			return err
		}
		if a.nats != "" || a.clickhouse != "" {
			return a.inRunning(cmd.Context(), "alerts work beside a running system", func(ctx context.Context, client *system.Client) error {
				return client.Alert(ctx, cfg, a.logger())
			})
		}
		return a.beside(cmd.Context(), "an alert role", func(ctx context.Context, client *system.Client) error {
			return client.AlertBeside(ctx, cfg, a.logger())
		})
	}
	return cmd
}

// alertConfig reads the file of the flag or the environment.
func (a *app) alertConfig(file string) (alerts.Config, error) {
	if file == "" {
		file = a.getenv(alertsVariable)
	}
	if file == "" {
		return alerts.DefaultConfig()
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return alerts.Config{}, fmt.Errorf("read who is told of alerts: %w", err)
	}
	return alerts.Read(file, text, alerts.Outside{Getenv: a.getenv, ReadFile: os.ReadFile, Now: time.Now})
}

// alertsOf is the configuration of the alerts of `up`: nil where neither flag nor environment names a file.
func (a *app) alertsOf(file string) (*alerts.Config, error) {
	if file == "" && a.getenv(alertsVariable) == "" {
		return nil, nil //nolint:nilnil // no alerts are asked for
	}
	cfg, err := a.alertConfig(file)
	return &cfg, err
}

func newAlertList(a *app) *cobra.Command {
	return a.listing("alerts", &cobra.Command{
		Use:     "list",
		Short:   "List the alerts that fire, and those that did",
		Example: "  tensortap alert list\n  tensortap alert list --output json",
	})
}

func newAlertTest(a *app, file *string) *cobra.Command {
	return &cobra.Command{
		Use:   "test RULE",
		Short: "Show what a rule would have sent now, and to whom; nothing is sent",
		Long: `Ask one rule now, and show what each receiver would be sent, and where. Where the rule has
nothing to tell, an example stands for it. Nothing is sent, and nothing stored.`,
		Example: `  tensortap alert test first-divergence
  tensortap alert test disk --config alerts.yaml`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: cobra.FixedCompletions(ruleTitles(), cobra.ShellCompDirectiveNoFileComp),
		RunE: func(cmd *cobra.Command, args []string) error {
			cfg, err := a.alertConfig(*file)
			if err != nil {
				return err
			}
			rule, err := cfg.Rule(args[0])
			if err != nil {
				return err
			}
			return a.testAlert(cmd.Context(), &cfg, rule)
		},
	}
}

func ruleTitles() []string {
	rules, _ := sql.Rules() // the commands that need them say what is wrong
	titles := make([]string, len(rules))
	for i := range rules {
		titles[i] = rules[i].Title()
	}
	return titles
}

func (a *app) testAlert(ctx context.Context, cfg *alerts.Config, rule *alerts.Rule) error {
	var found []receiver.Alert
	err := a.ask(ctx, func(ctx context.Context, client *system.Client) (err error) {
		found, err = client.AlertsNow(ctx, cfg, rule)
		return err
	})
	about := fmt.Sprintf("%d would fire now", len(found))
	switch {
	case errors.Is(err, system.ErrNotRunning):
		about = "no system runs that could be asked; an example"
	case err != nil:
		return err
	case len(found) == 0:
		about = "nothing would fire now; an example"
	}
	if len(found) == 0 {
		found = append(found, cfg.Example(rule, time.Now()))
	}
	fmt.Fprintf(a.stdout, "rule %s, severity %s, for %s: %s\n", rule.Title(), rule.Severity, rule.For, about)
	for i := range found {
		fmt.Fprintf(a.stdout, "  %s\n  look: %s\n", found[i].Summary, found[i].Command)
	}
	return a.previewAlerts(cfg, rule, found)
}

// previewAlerts shows what each receiver would be sent.
func (a *app) previewAlerts(cfg *alerts.Config, rule *alerts.Rule, found []receiver.Alert) error {
	told := 0
	for i := range cfg.Receivers {
		target := &cfg.Receivers[i]
		if !target.Tells(rule.Title()) {
			continue
		}
		told++
		for _, n := range target.Notifications(rule, found) {
			text, err := target.Preview(n)
			if err != nil {
				return fmt.Errorf("receiver %s: %w", target.Name, err)
			}
			fmt.Fprintf(a.stdout, "to %s, %s:\n  %s\n", target.Name, target.Where(), strings.ReplaceAll(text, "\n", "\n  "))
		}
	}
	if told == 0 {
		fmt.Fprintln(a.stdout, "no receiver is told of it: it would only be stored, for `tensortap alert list`")
	}
	return nil
}
