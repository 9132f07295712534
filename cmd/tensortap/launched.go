package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	"github.com/tensortap/tensortap/analysis/report"
	"github.com/tensortap/tensortap/analysis/symptoms"
	"github.com/tensortap/tensortap/internal/audit"
	"github.com/tensortap/tensortap/internal/launch"
	"github.com/tensortap/tensortap/internal/system"
)

// launched is one launch of a program.
type launched struct {
	*launching
	app         *app
	environment []string
	kept        keeping
	status      int   // of the program
	stoppedNs   int64 // when its user asked it to end; 0 if nobody did
}

// observed runs the program in a system, and waits until what it left is stored there.
func (o *launched) observed(ctx context.Context, client *system.Client) error {
	a, l := o.app, o.launching
	if err := refuseRecorded(ctx, client, *l); err != nil {
		return err
	}
	if err := a.declare(ctx, client, &l.against); err != nil {
		return err
	}
	host := hostOf(client.Endpoint)
	var err error
	if o.kept, err = a.kept(*l); err != nil {
		return err
	}
	recording, err := l.requests.begin(a, l.run)
	if err != nil {
		return err
	}
	o.environment = append(append(o.environment, recording...), o.kept.environment...)
	err = o.kept.during(ctx, func() error {
		err := a.duringHangs(ctx, client, l.run, a.awaitingDifference(ctx, client, l, o.runProgram))
		if err != nil {
			l.requests.remove()
			return err
		}
		return a.whileHosted(ctx, client, host, func(ctx context.Context) error { return o.told(ctx, client) })
	})
	if err != nil {
		return err
	}
	return a.whileHosted(ctx, client, host, o.spoken)
}

// runProgram runs the program to its end.
func (o *launched) runProgram() (err error) {
	o.status, err = launch.Run(launch.Program{
		Args: o.program, Environment: o.environment, Stdout: o.app.stdout, Stderr: o.app.stderr,
		Stopped: func() { o.stoppedNs = time.Now().UnixNano() },
	})
	return err
}

// rest is what observed does once the program is over, in another system.
func (o *launched) rest(ctx context.Context, client *system.Client) error {
	return o.app.whileHosted(ctx, client, hostOf(client.Endpoint), func(ctx context.Context) error {
		return errors.Join(o.told(ctx, client), o.spoken(ctx))
	})
}

// told says what is recorded, once it is.
func (o *launched) told(ctx context.Context, client *system.Client) error {
	return o.app.tellRecorded(ctx, client, *o.launching, symptoms.Run{Name: o.run, Failed: o.status != 0, StoppedNs: o.stoppedNs})
}

// spoken waits until what the processes printed and logged is in the stream.
func (o *launched) spoken(ctx context.Context) error {
	patient, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	return errors.Join(o.kept.wait(patient), system.WaitRecords(patient, o.spool, o.run))
}

// tellRecorded waits until all is published, and prints the counts.
func (a *app) tellRecorded(ctx context.Context, client *system.Client, l launching, ended symptoms.Run) error {
	// The program is over: a signal now means that the user has waited enough.
	patient, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := system.WaitPublished(patient, l.spool, l.run, a.tellLaunch); err != nil {
		return err
	}
	_ = system.WaitRecords(patient, l.spool, l.run) // symptoms look into them; spoken tells of those that are late
	ranks, err := client.RecordedRanks(ctx, l.run)
	if err != nil {
		return err
	}
	l.requests.store(patient, a, client, l.run)
	if ranks == 0 {
		a.tellLaunch("nothing was recorded: no Python process below " + report.Printable(l.program[0]) + " called a PyTorch model or took notice of PYTHONPATH, or the collector said above why it cannot")
		return nil
	}
	a.noteEnd(patient, client, ended)
	a.tellSymptoms(patient, client, ended)
	a.tellRaw(patient, client, l.run)
	a.tellLaunch(fmt.Sprintf("ranks of run %s that are recorded: %d%s", report.Printable(l.run), ranks, l.next(a.program())))
	a.writeDump(patient, client, l)
	a.tellVerdict(patient, client, &l.against)
	return nil
}

// noteEnd keeps that the user ended the program, and when: what its processes then died of is no crash, whoever asks later.
func (a *app) noteEnd(ctx context.Context, client *system.Client, ended symptoms.Run) {
	if ended.StoppedNs == 0 {
		return
	}
	deed := audit.Deed{Name: "end", Run: ended.Name, Details: map[string]string{"at_ns": strconv.FormatInt(ended.StoppedNs, 10)}}
	if err := client.Audited(ctx, deed, func() error { return nil }); err != nil {
		a.tellLaunch("that its user ended the program is not kept: " + printable(err))
	}
}
