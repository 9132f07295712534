package delivery

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/tensortap/tensortap/e2e/internal/program"
	"github.com/tensortap/tensortap/internal/dev/testbed"
	"github.com/tensortap/tensortap/internal/system"
)

// daysServer is `up` with a clock that its standard input moves on.
const daysServer = "test-days-server" // FOLDER LIBRARY PROGRAM

// TestUpForEightDaysKeepsNothing starts and ends a live run each hour of eight days, by the clock of `up`, and wants as many
// goroutines and open files after the last day as after the second.
func TestUpForEightDaysKeepsNothing(t *testing.T) {
	t.Parallel()
	const days, hours, early = 8, 24, 2
	u := startDays(t)
	var before counts
	for day := range days {
		u.live(t, day, hours)
		if day+1 == early {
			before = u.least(t)
		}
	}
	var after counts
	flat := func() bool {
		after = u.least(t)
		return after.goroutines <= before.goroutines+slack && after.files <= before.files+slack
	}
	if err := program.Await(time.Minute, "as few goroutines and files as before", flat); err != nil {
		t.Errorf("%v: after %d days %+v, after %d days %+v", err, early, before, days, after)
	}
	t.Logf("after %d days %+v, after %d days %+v", early, before, days, after)
	runs := strconv.Itoa(days * hours)
	if got := fmt.Sprint(u.up.Query(t, "SELECT uniqExact(run), countIf(complete) FROM tap.completeness")); got != "[["+runs+" "+runs+"]]" {
		t.Errorf("runs, complete ones: %s, want %s of each", got, runs)
	}
}

// slack is what comes and goes: connections that wait for the next question, files that are just being written.
const slack = 40

// counts is what a process keeps.
type counts struct{ goroutines, files int }

// daysUp is the server of days.
type daysUp struct {
	up     *program.Up
	orders io.Writer
	said   *bufio.Reader
	now    time.Time // by its clock
}

func startDays(t *testing.T) *daysUp {
	t.Helper()
	data := t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), self, daysServer, data, testbed.Library(t), program.Path(t))
	cmd.Env = program.Setting{Data: data}.Environment(t)
	program.EndWithTests(cmd)
	d := &daysUp{up: program.NewUp(data, cmd), now: time.Now()}
	cmd.Stdout = nil // read here
	orders, ordersErr := cmd.StdinPipe()
	said, saidErr := cmd.StdoutPipe()
	if err := errors.Join(ordersErr, saidErr, d.up.Begin()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.up.Kill() })
	d.orders, d.said = orders, bufio.NewReader(said)
	d.moveOn(t, 0) // it is up
	if d.up.Endpoint, err = system.Folder(data).Find(); err != nil {
		t.Fatal(err)
	}
	return d
}

// moveOn moves the clock on, and returns what the server keeps then.
func (d *daysUp) moveOn(t *testing.T, by time.Duration) (kept counts) {
	t.Helper()
	d.now = d.now.Add(by)
	if _, err := fmt.Fprintln(d.orders, int64(by)); err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Fscanln(d.said, &kept.goroutines, &kept.files); err != nil {
		t.Fatalf("ask the server: %v\n%s", err, d.up.Stderr)
	}
	return kept
}

// live has a process begin, and end by itself, in each hour of a day.
func (d *daysUp) live(t *testing.T, day, hours int) {
	t.Helper()
	root := filepath.Join(d.up.Data, "spool")
	t.Run(fmt.Sprintf("day %d", day), func(t *testing.T) {
		for hour := range hours {
			d.moveOn(t, time.Hour)
			s := testbed.NewSpool(t, root, testbed.SpoolOptions{
				Run: fmt.Sprintf("day %d hour %d", day, hour), Epoch: uint64(day*hours + hour + 1), Started: d.now,
			})
			s.Step(0, 2)
			s.Step(1, 2)
			s.Close()
		}
		program.Served(t, root)
	})
	d.up.Settle(t)
}

// least is what the server keeps between two bits of work.
func (d *daysUp) least(t *testing.T) counts {
	t.Helper()
	least := d.moveOn(t, 0)
	for range 20 {
		time.Sleep(20 * time.Millisecond)
		now := d.moveOn(t, 0)
		least = counts{min(least.goroutines, now.goroutines), min(least.files, now.files)}
	}
	return least
}

// beDays is the server.
func beDays(data, library, tensortap string) error {
	var ahead atomic.Int64
	now := func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
	cfg := system.DefaultConfig(system.Folder(data), now)
	cfg.Library, cfg.Command, cfg.ArchiveAge = library, []string{tensortap, "engine", "serve"}, 200*time.Millisecond
	cfg.Serve = system.ServeRequest{Spool: filepath.Join(data, "spool"), Tell: func(string) {}}
	s, err := system.New(cfg)
	if err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(context.Background())
	group.Go(func() error {
		return s.Run(ctx, func(system.Endpoint) error {
			group.Go(func() error { return obey(os.Stdin, os.Stdout, &ahead) })
			return nil
		})
	})
	return group.Wait()
}

// obey moves the clock on, and says what this process keeps.
func obey(orders io.Reader, to io.Writer, ahead *atomic.Int64) error {
	for lines := bufio.NewScanner(orders); lines.Scan(); {
		by, err := strconv.ParseInt(lines.Text(), 10, 64)
		if err != nil {
			return err
		}
		ahead.Add(by)
		files, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			return err
		}
		fmt.Fprintln(to, runtime.NumGoroutine(), len(files))
	}
	return errors.New("nobody gives orders any more")
}
