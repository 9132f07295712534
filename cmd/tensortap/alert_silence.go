package main

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tensortap/tensortap/analysis/report"
	"github.com/tensortap/tensortap/consumers/alerts"
	"github.com/tensortap/tensortap/internal/system"
)

func newAlertSilence(a *app) *cobra.Command {
	return choice(&cobra.Command{
		Use:   "silence",
		Short: "Tell nobody of some alerts for a while",
		Long: `Tell nobody of some alerts for a while. They fire and are stored all the same. What still
fires when the silence ends is told then.`,
		Example: `  tensortap alert silence set rule=rank-silent run=nightly --for 2h --because "host is being repaired"
  tensortap alert silence list
  tensortap alert silence remove ID`,
	}, "command", newSilenceSet(a), newSilenceList(a), newSilenceRemove(a))
}

func newSilenceSet(a *app) *cobra.Command {
	var (
		silence alerts.Silence
		lasts   time.Duration
	)
	cmd := &cobra.Command{
		Use:   "set LABEL=VALUE…",
		Short: "Silence the alerts that have all of these labels",
		Long: `Silence the alerts that have all of these labels. Labels of an alert are in report alerts;
rule and severity count as such.`,
		Example: `  tensortap alert silence set rule=disk --for 12h
  tensortap alert silence set run=nightly rank=3 --for 2h --because "known"`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if silence.Match, err = silenceMatch(args); err != nil {
				return err
			}
			if lasts <= 0 {
				return errors.New("--for has to be greater than zero, as 2h")
			}
			silence.Until = time.Now().Add(lasts).UTC().Truncate(time.Second)
			return a.withSilences(func(client *system.Client) error {
				set, err := client.SetSilence(cmd.Context(), silence)
				if err == nil {
					fmt.Fprintf(a.stdout, "silence %s is set until %s UTC\n", set.ID, set.Until.Format(time.DateTime))
				}
				return err
			})
		},
	}
	cmd.Flags().DurationVar(&lasts, "for", 0, "how long, as 90m or 48h")
	cmd.Flags().StringVar(&silence.Reason, "because", "", "why, for who finds it later")
	_ = cmd.MarkFlagRequired("for")
	return cmd
}

func silenceMatch(words []string) (map[string]string, error) {
	match := make(map[string]string, len(words))
	for _, word := range words {
		name, value, found := strings.Cut(word, "=")
		if !found || name == "" || value == "" {
			return nil, fmt.Errorf("silence %q: want LABEL=VALUE, as rule=rank-silent or run=nightly", word)
		}
		if _, twice := match[name]; twice {
			return nil, fmt.Errorf("silence %q: label %s is given twice, and no alert has both", word, name)
		}
		match[name] = value
	}
	return match, nil
}

func newSilenceList(a *app) *cobra.Command {
	return &cobra.Command{
		Use:     "list",
		Short:   "List the silences that are on",
		Example: "  tensortap alert silence list",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.withSilences(func(client *system.Client) error {
				all, err := client.Silences(cmd.Context())
				for i := range all {
					if all[i].Until.After(time.Now()) {
						fmt.Fprintf(a.stdout, "%s  until %s UTC  %s  %s\n", all[i].ID, all[i].Until.Format(time.DateTime), report.Printable(all[i].Words()), report.Printable(all[i].Reason))
					}
				}
				return err
			})
		},
	}
}

func newSilenceRemove(a *app) *cobra.Command {
	return &cobra.Command{
		Use:     "remove ID",
		Short:   "End a silence before its time",
		Example: "  tensortap alert silence remove 4k2m7q3a",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withSilences(func(client *system.Client) error {
				err := client.RemoveSilence(cmd.Context(), args[0])
				if err == nil {
					fmt.Fprintf(a.stdout, "silence %s is removed\n", args[0])
				}
				return err
			})
		},
	}
}

// withSilences works with a system that runs.
func (a *app) withSilences(work func(*system.Client) error) error {
	client, err := a.connectStream()
	if errors.Is(err, system.ErrNotRunning) {
		return fmt.Errorf("silences are kept by a running system: %w", err)
	}
	if err != nil {
		return err
	}
	defer client.Close()
	return work(client)
}
