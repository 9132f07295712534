package main

import (
	"cmp"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/tensortap/tensortap/internal/health"
)

// observed is a command that runs until it is stopped, with flags by which it tells how it does meanwhile. Its parts find
// that health in a.own, which is nil where nobody asks.
func (a *app) observed(cmd *cobra.Command) *cobra.Command {
	var cfg health.Config
	cmd.Flags().StringVar(&cfg.Metrics, "metrics", "", "`HOST:PORT` of /metrics for Prometheus, /healthz and /readyz (also TENSORTAP_METRICS); :PORT is this machine alone, none if not given")
	cmd.Flags().StringVar(&cfg.Profiles, "pprof", "", "`PORT` of /debug/pprof on this machine alone (also TENSORTAP_PPROF); none if not given")
	cmd.Annotations = map[string]string{untilStopped: ""}
	work := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		cfg.Metrics = cmp.Or(cfg.Metrics, a.getenv("TENSORTAP_METRICS"))
		cfg.Profiles = cmp.Or(cfg.Profiles, a.getenv("TENSORTAP_PPROF"))
		if !cfg.Wanted() {
			return work(cmd, args)
		}
		if a.own == nil {
			a.own = health.New(cmd.Name(), version, time.Now)
		}
		tell := func(text string) { fmt.Fprintln(a.stderr, text) }
		return a.own.Beside(cmd.Context(), cfg, tell, func() error { return work(cmd, args) })
	}
	return cmd
}
