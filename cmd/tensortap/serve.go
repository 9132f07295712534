package main

import (
	"context"
	"fmt"
	"sync"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/tensortap/tensortap/internal/api"
	"github.com/tensortap/tensortap/internal/system"
)

func newServe(a *app) *cobra.Command {
	var l listening
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve the page and the HTTP API, until Ctrl-C",
		Long: `Serve the page and the HTTP API, until Ctrl-C. The API answers below /api/v1 what the
command line answers: reports, comparisons, explanations, as JSON, Arrow, CSV and Parquet;
/api/v1/openapi.json describes it (docs/api.md). tensortap up has the same inside. Any
number of them may run beside the same servers, each started and stopped at any time.

Without --tokens the user who started it is answered, on this machine alone. With --tokens
everyone needs a token, and it may listen for other machines.`,
		Example: `  tensortap serve
  tensortap serve --listen 0.0.0.0:7070 --tokens tokens --listen-cert page.pem --listen-key page-key.pem
  tensortap serve --nats nats://nats:4222 --clickhouse http://reader:password@db:8123`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			answers, server, err := l.open(cmd.Context(), a)
			if err != nil {
				return err
			}
			tell := sync.OnceFunc(func() {
				fmt.Fprintf(a.stdout, "tensortap %s serves the page at %s, until Ctrl-C\n", version, server.URL())
			})
			return a.serve(cmd.Context(), answers, server, tell)
		},
	}
	l.flags(cmd, defaultListen)
	cmd.Flags().BoolVar(&l.control, "control", false, "let operators capture, poke and stop live runs, which needs a NATS user who may")
	return cmd
}

// serve answers requests by the running system, and by the next one where that of the folder was started anew.
func (a *app) serve(ctx context.Context, answers *api.API, server *api.Server, ready func()) error {
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return server.Run(ctx) })
	group.Go(func() error { return a.serveRunning(ctx, answers, ready) })
	return group.Wait()
}

func (a *app) serveRunning(ctx context.Context, answers *api.API, ready func()) error {
	const who = "the page"
	if a.nats != "" || a.clickhouse != "" {
		return a.inRunning(ctx, who+" works beside a running system", func(ctx context.Context, client *system.Client) error {
			return answerBy(ctx, client, answers, ready, untilDone)
		})
	}
	return a.beside(ctx, who, func(ctx context.Context, client *system.Client) error {
		return answerBy(ctx, client, answers, ready, client.UntilMoved)
	})
}

func untilDone(ctx context.Context) error {
	<-ctx.Done()
	return nil
}

// answerBy has requests answered by the system of a client, as one who only reads, until what is waited for has come.
func answerBy(ctx context.Context, client *system.Client, answers *api.API, ready func(), until func(context.Context) error) error {
	reading, err := client.Reading(ctx)
	if err != nil {
		return err
	}
	defer reading.Close()
	answers.Use(reading)
	defer answers.Use(nil)
	ready()
	return until(ctx)
}
