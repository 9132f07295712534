package main

import (
	"errors"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tensortap/tensortap/internal/health"
	"github.com/tensortap/tensortap/internal/spans"
	"github.com/tensortap/tensortap/internal/spans/otlp"
)

// untilStopped marks commands that run until they are stopped: no span is around their work.
const untilStopped = "until stopped"

// traced has the command and those below it tell traces, where the environment names a collector of OpenTelemetry.
func (a *app) traced(cmd *cobra.Command) {
	for _, below := range cmd.Commands() {
		if below.Name() != "engine" { // the database's child
			a.traced(below)
		}
	}
	work := cmd.RunE
	if work == nil {
		return
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		cfg := otlp.Config{Role: roleOf(cmd), Version: version, Getenv: a.getenv, Log: a.logger(), Now: time.Now}
		if !cfg.Wanted() {
			return work(cmd, args)
		}
		traces, err := otlp.New(cmd.Context(), cfg)
		if err != nil {
			return err
		}
		defer traces.End(cmd.Context())
		a.own = health.New(roleOf(cmd), version, time.Now)
		a.own.Traces(traces.Tracer(), func() health.Traced { return health.Traced(traces.Counts()) })
		return a.followed(cmd, args, work)
	}
}

// roleOf is the first word of the command: publish, not the tool whose dumps are published.
func roleOf(cmd *cobra.Command) string {
	words := strings.Fields(cmd.CommandPath())
	return words[min(1, len(words)-1)]
}

// followed has a span be around a command that ends by itself.
func (a *app) followed(cmd *cobra.Command, args []string, work func(*cobra.Command, []string) error) error {
	if _, runs := cmd.Annotations[untilStopped]; runs {
		return work(cmd, args)
	}
	ctx, span := a.own.Tracer().Start(cmd.Context(), cmd.CommandPath())
	cmd.SetContext(ctx)
	err := work(cmd, args)
	told := err
	if errors.Is(err, errDiffers) {
		told = nil
	}
	spans.End(span, told)
	return err
}
