package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/tensortap/tensortap/analysis/report"
	"github.com/tensortap/tensortap/internal/system"
)

func newRun(a *app) *cobra.Command {
	l := launching{settings: map[string]*string{}}
	cmd := &cobra.Command{
		Use:   "run [flags] -- COMMAND [ARG…]",
		Short: "Run an unchanged program and record its models",
		Long: `Run an unchanged program and record its models. The collector enters every Python process
below it and taps each model that is called. It sees the same as a tap in the code, and
obeys the same TENSORTAP_* variables.

Events go to the running system. Without one, a system runs as long as the program, and
keeps the events in the data folder, where compare and the reports find them.

With --bench the run is compared with a stored one as its steps land. At the end the
verdict is printed on standard error.

Input, output, signals and the exit status are the program's; 126 and 127 mean that it
could not be started. The output of each Python process is kept in files of its own:
tensortap logs shows it.`,
		Example: `  tensortap run --run bad -- torchrun --nproc-per-node 4 train.py
  tensortap run --run good --level mix --steps 0-9 -- python generate.py
  tensortap run --run bad --bench good -- torchrun --nproc-per-node 4 train.py
  tensortap run --run bad --when 'request=cmpl-7*' --level mix -- vllm serve MODEL
  tensortap run --run bad --config config.json -- python generate.py
  tensortap run --debug 0,3 -- torchrun --nproc-per-node 4 train.py
  tensortap run --run bad --as-msprobe -- python -m sglang.launch_server --msprobe-dump-config config.json`,
		Args: hasProgram,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := cmp.Or(needsOfHost().check("run"), l.read(a, cmd, args)); err != nil {
				return err
			}
			return a.launch(cmd.Context(), l)
		},
	}
	l.flags(a, cmd)
	return cmd
}

func hasProgram(_ *cobra.Command, args []string) error {
	if len(args) == 0 {
		return errors.New("no program to run: want tensortap run [flags] -- COMMAND [ARG…]")
	}
	return nil
}

// launch runs the program with the collector in it, and a system around it.
func (a *app) launch(ctx context.Context, l launching) error {
	if l.spool == "" {
		l.spool = a.spoolRoot()
	}
	var err error
	if l.spool, err = filepath.Abs(l.spool); err != nil { // the program's processes may work elsewhere
		return err
	}
	if err := errors.Join(l.check(), l.checkRaw(a.payloadFolder())); err != nil {
		return err
	}
	environment, err := a.attached(l)
	if err != nil {
		return err
	}
	if err := l.requests.check(); err != nil {
		return err
	}
	if !l.asMsprobe {
		a.tellLeftOut(os.Environ())
	}
	people, err := a.letPeopleIn(ctx, l)
	if err != nil {
		return err
	}
	defer people.leave()
	one := &launched{app: a, launching: &l, environment: append(environment, people.environment...)}
	// Signals are the program's. Its published events are stored, whatever the signals did to it.
	ctx = context.WithoutCancel(ctx)
	err = a.aroundHosts(ctx, l, one.observed, one.rest)
	if err == nil && one.status == 0 {
		return nil
	}
	return &programError{status: one.status, err: err}
}

// refuseRecorded is an error before a program computes for hours that no run could take.
func refuseRecorded(ctx context.Context, client *system.Client, l launching) error {
	ranks, err := client.RecordedRanks(ctx, l.run)
	if err == nil && ranks > 0 && !l.resume {
		err = fmt.Errorf("run %s is recorded already: give another name with --run, or --resume to go on with it", l.run)
	}
	return err
}

// next is the command that says more of the run, unless its verdict does.
func (l *launching) next(program string) string {
	switch {
	case l.against.asked():
		return ""
	case *l.settings["level"] == "aten": // where ops are counted, there are no values to compare
		return "; next: " + program + " report shapes --run " + report.Argument(l.run)
	case *l.settings["level"] == "tokens":
		return "; next: " + program + " report tokens --problem " + report.Argument(l.run) + " --bench BENCH"
	}
	return "; next: " + program + " compare " + report.Argument(l.run) + " BENCH"
}

// scriptName is the script among a command's words, or else the program.
func scriptName(words []string) string {
	for _, word := range words {
		if script, ok := strings.CutSuffix(filepath.Base(word), ".py"); ok {
			return script
		}
	}
	return filepath.Base(words[0])
}

// around serves the program's spool while job runs: into the system that runs, else into one of its own.
func (a *app) around(ctx context.Context, l launching, job question) error {
	serve := a.serving(l.spool)
	serve.Resume, serve.Of = l.resume, l.run
	joined := func(ctx context.Context, endpoint system.Endpoint) error {
		return system.WithAgent(ctx, endpoint, serve, time.Now, job)
	}
	folder, err := a.folder()
	if err != nil {
		return err
	}
	if a.nats != "" {
		return joined(ctx, a.elsewhere(system.Endpoint{Folder: folder}))
	}
	return a.shareFolder(ctx, folder, joined, func(ctx context.Context) error { return a.hosting(ctx, serve, job) })
}

// hosting runs a system with job, until job and all that joined the system meanwhile are done.
func (a *app) hosting(ctx context.Context, serve system.ServeRequest, job question) error {
	cfg, err := a.config(a.data)
	if err != nil {
		return err
	}
	cfg.Serve = serve
	var alone *os.File
	err = system.WithSystem(ctx, cfg, func(ctx context.Context, client *system.Client) error {
		a.tellLaunch("no system was running; one runs with the program, and keeps what it stores in " + report.Printable(a.data))
		err := job(ctx, client)
		var failed error
		alone, failed = a.waitForOthers(ctx, cfg.Folder)
		return errors.Join(err, failed)
	})
	if alone != nil {
		err = errors.Join(err, alone.Close())
	}
	return err
}

// waitForOthers waits until nobody who joined the system needs it, or a signal ends the wait.
func (a *app) waitForOthers(ctx context.Context, folder system.Folder) (*os.File, error) {
	patient, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	said := time.AfterFunc(time.Second, func() {
		a.tellLaunch("another program or question uses this system; it ends with that, or with Ctrl-C")
	})
	defer said.Stop()
	return folder.Alone(patient)
}

func (a *app) tellLaunch(text string) { fmt.Fprintln(a.stderr, "run:", text) }
