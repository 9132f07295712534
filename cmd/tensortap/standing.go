package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/tensortap/tensortap/analysis/report"
	"github.com/tensortap/tensortap/internal/system"
)

// judgingWords say how whole runs are judged.
type judgingWords struct {
	comparisonWords
	strict  bool
	mapping string
}

func (w *judgingWords) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	w.judgeFlags(f)
	f.BoolVar(&w.strict, "strict", false, "ops of one run only make the runs differ")
	addMap(cmd, &w.mapping)
}

func (w *judgingWords) apply(request *system.CompareRequest) (err error) {
	request.Strict = w.strict
	if err = mapped(request, w.mapping); err != nil {
		return err
	}
	return w.comparisonWords.apply(request)
}

// standing has the benches of a run that is being stored; without benches it does nothing.
type standing struct {
	words   judgingWords
	request system.CompareRequest
}

func (s *standing) flags(a *app, cmd *cobra.Command) {
	s.request = system.DefaultCompareRequest()
	cmd.Flags().StringArrayVar(&s.request.Benches, "bench", nil, "stored run to compare it with as it lands; given several times, it pairs with the first, and all make the band")
	a.completeRunFlags(cmd, "bench")
	s.words.flags(cmd)
}

func (s *standing) asked() bool { return len(s.request.Benches) > 0 }

// read reads the flags about a run.
func (s *standing) read(cmd *cobra.Command, run string) error {
	if !s.asked() {
		for _, name := range []string{"tolerance", "step-offset", "strict", "map"} {
			if cmd.Flags().Changed(name) {
				return fmt.Errorf("--%s goes with --bench, which names the run to compare with", name)
			}
		}
		return nil
	}
	s.request.Problem, s.request.Stored, s.request.ToolVersion = run, true, version
	return errors.Join(s.words.apply(&s.request), s.request.Validate())
}

// storedPatience is the longest wait of a verdict for the database to hold the run.
const storedPatience = 2 * time.Minute

// tellStanding says, once all of the run is published, whether it differs and where that began.
func (a *app) tellStanding(ctx context.Context, client *system.Client, s *standing, to io.Writer) (report.Verdict, error) {
	waiting, cancel := context.WithTimeout(ctx, storedPatience)
	defer cancel()
	if err := client.WaitStored(waiting); err != nil {
		return report.Unknown, err
	}
	comparison, _, err := client.Compare(ctx, s.request)
	if err != nil {
		return report.Unknown, err
	}
	style := report.Style{Format: report.Text, Color: a.colored(to), Program: a.program()}
	return comparison.Verdict, comparison.WriteVerdict(to, style)
}

// declare declares the comparison of a program's run, before the program starts.
func (a *app) declare(ctx context.Context, client *system.Client, s *standing) error {
	return a.withDatabase(ctx, client, s, func(ctx context.Context, client *system.Client) error {
		a.letCatchUp(ctx, client)
		return client.DeclareStanding(ctx, s.request)
	})
}

// tellVerdict prints the verdict on the run of a program that has ended. Failures are only printed.
func (a *app) tellVerdict(ctx context.Context, client *system.Client, s *standing) {
	err := a.withDatabase(ctx, client, s, func(ctx context.Context, client *system.Client) error {
		_, err := a.tellStanding(ctx, client, s, a.stderr)
		return err
	})
	if err != nil {
		a.tellLaunch("not held against run " + report.Printable(s.request.Bench()) + ": " + printable(err))
	}
}

// withDatabase calls job with the database of the system, if the run is compared at all.
func (a *app) withDatabase(ctx context.Context, client *system.Client, s *standing, do question) error {
	switch {
	case !s.asked():
		return nil
	case client.Endpoint.ClickHouse == "":
		return errors.New("--bench needs the database as well as the stream: name both, with --nats and --clickhouse")
	}
	whole, err := system.Connect(ctx, client.Endpoint, time.Now)
	if err != nil {
		return err
	}
	defer whole.Close()
	return do(ctx, whole)
}
