package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/tensortap/tensortap/analysis/report"
	"github.com/tensortap/tensortap/internal/logs"
	"github.com/tensortap/tensortap/internal/system"
	"github.com/tensortap/tensortap/schemas"
)

// Values of --logs.
const (
	logsAuto = "auto"
	logsAll  = "all"
	logsOff  = "off"
)

// leastRoom is the number of bytes that must be free on the disk for anything to be kept.
const leastRoom = 1 << 30

// anyRank stands for all ranks, and for processes that have none.
const anyRank = -1

// keptLines shows what is kept on this machine.
func (a *app) keptLines(ctx context.Context, run string, rank int64) error {
	host, err := os.Hostname()
	if err != nil {
		return err
	}
	var ranks map[int]int64
	var unnamed error
	err = a.ask(ctx, func(ctx context.Context, client *system.Client) (err error) {
		unnamed = client.CheckRun(ctx, run)
		ranks, err = client.RanksOfProcesses(ctx, run, host)
		return err
	})
	if err != nil && !errors.Is(err, system.ErrNotRunning) {
		return err
	}
	if rank != anyRank && !slices.Contains(slices.Collect(maps.Values(ranks)), rank) {
		return fmt.Errorf("--rank %d: no process of this machine is that rank of run %s; leave out --rank to see all", rank, report.Printable(run))
	}
	folder, err := a.logsFolder(run)
	if err != nil {
		return err
	}
	err = logs.Read(folder, func(line logs.Line) error {
		of, known := ranks[line.PID]
		if rank != anyRank && (!known || of != rank) {
			return nil
		}
		_, err := fmt.Fprintln(a.stdout, logPrefix(line, of, known)+report.Printable(line.Text))
		return err
	})
	if errors.Is(err, fs.ErrNotExist) {
		return errors.Join(unnamed, err)
	}
	return err
}

func logPrefix(line logs.Line, rank int64, known bool) string { //nolint:revive // flag-parameter: whether there is a rank
	of, stream := "-", "out"
	if known {
		of = strconv.FormatInt(rank, 10)
	}
	if line.Stderr {
		stream = "err"
	}
	return fmt.Sprintf("%s rank %s pid %d %s | ", line.Time.UTC().Format(time.DateTime), of, line.PID, stream)
}

// logsFolder is the folder of a run's output on this machine.
func (a *app) logsFolder(run string) (string, error) {
	folder, err := a.folder()
	return filepath.Join(string(folder), "logs", schemas.FormatID(schemas.RunID(run))), err
}

// keeping is the way to keep a program's output; the zero value keeps nothing.
type keeping struct {
	forward     *logs.Forwarder
	environment []string
}

func (k keeping) during(ctx context.Context, job func() error) error {
	if k.forward == nil {
		return job()
	}
	err := k.forward.During(ctx, job)
	return errors.Join(err, k.forward.Launch.End())
}

// wait is over when all that was printed is in the stream.
func (k keeping) wait(ctx context.Context) error {
	if k.forward == nil {
		return nil
	}
	return system.WaitSpoken(ctx, k.forward.Launch)
}

// kept prepares the keeping of a program's output, as far as it is asked for and the streams are files.
func (a *app) kept(l launching) (keeping, error) {
	if !slices.Contains([]string{logsAuto, logsAll, logsOff}, l.logs) {
		return keeping{}, fmt.Errorf("--logs=%s: want %s, %s or %s", l.logs, logsAuto, logsAll, logsOff)
	}
	out, err := a.keptStream(l, a.stdout), a.keptStream(l, a.stderr)
	if l.logs == logsOff || (out == nil && err == nil) {
		return keeping{}, nil
	}
	folder, failed := a.logsFolder(l.run)
	if failed != nil {
		return keeping{}, failed
	}
	launch, failed := logs.NewLaunch(folder, time.Now())
	if failed != nil { // which is no reason not to run the program
		a.tellLaunch("what the processes print is not kept: " + printable(failed))
		return keeping{}, nil
	}
	variable := launch.Variable(out, err)
	if roomy := launch.HasRoom(leastRoom); !roomy || variable == "" {
		if !roomy {
			a.tellLaunch("what the processes print is not kept: less than 1 GiB is free in " + report.Printable(a.data))
		}
		return keeping{}, os.Remove(string(launch))
	}
	if failed := launch.Begin(os.Getpid()); failed != nil {
		a.tellLaunch("what the processes print is not published: " + printable(failed))
	}
	forward := &logs.Forwarder{Launch: launch, Out: a.stdout, Err: a.stderr, Now: time.Now}
	return keeping{forward: forward, environment: []string{variable}}, nil
}

// keptStream is the open file behind a stream, nil when it is left alone: programs that draw on a terminal
// need that.
func (a *app) keptStream(l launching, to any) *os.File {
	file, ok := to.(*os.File)
	if !ok || (l.logs == logsAuto && a.terminal(file)) {
		return nil
	}
	return file
}
