package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tensortap/tensortap/internal/recorded"
	"github.com/tensortap/tensortap/internal/report"
	"github.com/tensortap/tensortap/internal/testbed"
	"github.com/tensortap/tensortap/pipelines"
	"github.com/tensortap/tensortap/schemas"
)

// liveRun publishes a run row by row, as a collector in a training would.
type liveRun struct {
	t         *testing.T
	u         *upProcess
	name      string
	publisher *pipelines.Publisher
	batches   map[string]uint64
	seq       uint64
	epoch     uint64
	checksum  uint64 // that msProbe took of every tensor; 0 for none
}

// patience is how long an event may take where the machine has much else to do.
const patience = 2 * time.Minute

// liveOps is how many ops a step has; each has one output.
const liveOps = 20

func liveOp(i int) string { return fmt.Sprintf("Functional.live.%d.forward", i) }

func newLiveRun(t *testing.T, u *upProcess, name string) *liveRun {
	t.Helper()
	return newRunFrom(t, u, name, "rank")
}

// newRunFrom says where the times of the run come from: one of rank runs on for a minute after its last event, one of
// file has ended when all of its steps are whole.
func newRunFrom(t *testing.T, u *upProcess, name, source string) *liveRun {
	t.Helper()
	client := u.client(t)
	t.Cleanup(client.Close)
	cfg := pipelines.DefaultConfig().Publish
	cfg.SpillDir = t.TempDir()
	publisher, err := pipelines.NewPublisher(cfg, connectStream(t, u.endpoint.NATS), time.Now, nil)
	if err != nil {
		t.Fatal(err)
	}
	l := &liveRun{t: t, u: u, name: name, publisher: publisher, batches: map[string]uint64{}, epoch: schemas.RunID(name)}
	run := schemas.RunRow{RunID: schemas.RunID(name), Name: name, Source: "test", EventTimeSource: source, FirstEventTimeNs: time.Now().UnixNano()}
	send(l, "run", &run)
	send(l, "rank", &schemas.RankRow{RunID: run.RunID, Epoch: l.epoch, TP: -1, PP: -1, DP: -1, CP: -1, EP: -1})
	send(l, "layout", liveLayout())
	for i := range liveOps {
		send(l, "program", &schemas.ProgramRow{ProgramID: liveProgram(), Position: uint32(i), OpID: schemas.OpID(liveOp(i))})
		op := schemas.OpRow{OpID: schemas.OpID(liveOp(i)), Name: liveOp(i), Level: "api", Prefix: "Functional", ClassOrAPI: "live", CallIndex: int64(i), Phase: "forward", LayerIndex: -1}
		send(l, "op", &op)
		send(l, "site", &schemas.SiteRow{SiteID: schemas.SiteID(op.OpID, "output", "0"), OpID: op.OpID, Role: "output", Path: "0"})
	}
	return l
}

func liveProgram() uint64 {
	var hasher schemas.ProgramHasher
	for i := range liveOps {
		hasher.Add(schemas.OpID(liveOp(i)), 0)
	}
	return hasher.ID()
}

func liveLayout() *schemas.LayoutRow {
	layout := &schemas.LayoutRow{Kind: "tensor", Dtype: "torch.float32", Shape: []int64{8, 8}}
	layout.LayoutID = schemas.LayoutID(layout)
	return layout
}

// send publishes one row and returns when the stream has it.
func send[R any, P schemas.Row[R]](l *liveRun, kind string, row P) {
	l.t.Helper()
	rows := schemas.NewBuilder[R, P]()
	rows.Append((*R)(row))
	message, err := rows.Message(schemas.Identity{RunID: schemas.RunID(l.name), Epoch: l.epoch, Batch: l.batches[kind]})
	if err != nil {
		l.t.Fatal(err)
	}
	l.batches[kind]++
	if err := l.publisher.Publish(l.t.Context(), message); err != nil {
		l.t.Fatal(err)
	}
	if err := l.publisher.Flush(l.t.Context()); err != nil {
		l.t.Fatal(err)
	}
}

// row publishes the output of an op.
func (l *liveRun) row(step uint32, op int, scale float64) {
	l.t.Helper()
	v := scale * float64(op+1)
	row := schemas.TensorRow{
		RunID: schemas.RunID(l.name), Epoch: l.epoch, Batch: l.batches["tensor"], EventTimeNs: time.Now().UnixNano(), Step: step, Seq: l.seq,
		SiteID: schemas.SiteID(schemas.OpID(liveOp(op)), "output", "0"), LayoutID: liveLayout().LayoutID, ElementCount: 64,
		Measured: schemas.MeasuredMin | schemas.MeasuredMax | schemas.MeasuredMean | schemas.MeasuredL2,
		ValueMin: -v, ValueMax: v, ValueMean: 0, ValueL2: 4 * v,
	}
	if l.checksum != 0 {
		row.DigestKind, row.Digest = schemas.DigestCRC32, l.checksum
	}
	send(l, "tensor", &row)
	l.seq++
}

// end ends a step.
func (l *liveRun) end(step uint32) {
	l.t.Helper()
	send(l, "step", &schemas.StepRow{
		RunID: schemas.RunID(l.name), Epoch: l.epoch, Batch: l.batches["step"], EventTimeNs: time.Now().UnixNano(), Step: step,
		ProgramID: liveProgram(), OpCount: liveOps, TensorCount: liveOps, Complete: 1,
	})
}

// step publishes a whole step.
func (l *liveRun) step(step uint32) {
	l.t.Helper()
	for i := range liveOps {
		l.row(step, i, 1)
	}
	l.end(step)
}

// watching is a running `tensortap watch --output json`.
type watching struct {
	cmd    *exec.Cmd
	events chan report.WatchEvent
	stderr *testbed.Buffer
}

// startWatch starts a watch and returns at once.
func startWatch(t *testing.T, u *upProcess, problem, bench string, args ...string) *watching {
	t.Helper()
	w := &watching{events: make(chan report.WatchEvent, 1000), stderr: &testbed.Buffer{}}
	w.cmd = command(t, u.setting, append([]string{"watch", "--problem", problem, "--bench", bench, "--output", "json"}, args...)...)
	stdout, err := w.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	w.cmd.Stderr = w.stderr
	if err := w.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.cmd.Process.Kill() })
	go w.read(stdout)
	return w
}

func (w *watching) read(from io.Reader) {
	defer close(w.events)
	for lines := bufio.NewScanner(from); lines.Scan(); {
		var fields struct {
			report.WatchEvent
			Error     any `json:"error"` // infinity is a text
			Tolerance any `json:"tolerance"`
		}
		if json.Unmarshal(lines.Bytes(), &fields) == nil {
			w.events <- fields.WatchEvent
		}
	}
}

// next is the next event of that kind.
func (w *watching) next(t *testing.T, kind string) report.WatchEvent {
	t.Helper()
	for deadline := time.After(patience); ; {
		select {
		case e, open := <-w.events:
			if !open {
				t.Fatalf("watch ended before an event %s: %v\n%s", kind, w.cmd.Wait(), w.stderr)
			}
			if e.Event == kind {
				return e
			}
		case <-deadline:
			t.Fatalf("no event %s within %v\n%s", kind, patience, w.stderr)
		}
	}
}

// status waits for the end and returns the exit status.
func (w *watching) status(t *testing.T) int {
	t.Helper()
	for range w.events {
	}
	_ = w.cmd.Wait()
	return w.cmd.ProcessState.ExitCode()
}

// awaitRow returns when the database shows the rows of a run, and when that was.
func awaitRow(t *testing.T, u *upProcess, run string, rows int) time.Time {
	t.Helper()
	client := u.client(t)
	defer client.Close()
	for t.Context().Err() == nil {
		table, err := client.Table(t.Context(), "SELECT count() AS n FROM tap_store.tensor WHERE run_id = xxh3(concat({run:String}, char(31)))", map[string]string{"run": run})
		if err != nil {
			t.Fatal(err)
		}
		if table.Get(0, "n").Number >= float64(rows) {
			break
		}
		time.Sleep(2 * time.Millisecond)
	}
	return time.Now()
}

func TestWatchSaysADivergenceInTheMiddleOfAStep(t *testing.T) {
	t.Parallel()
	u := shared(t)
	w := startWatch(t, u, "watch-live-bad", "watch-live-good", "--until-diverged", "--idle", "5m")
	if e := w.next(t, "waiting"); e.For != "run watch-live-bad" {
		t.Errorf("waits for %q first", e.For)
	}
	good := newLiveRun(t, u, "watch-live-good")
	bad := newLiveRun(t, u, "watch-live-bad")
	good.step(0)
	bad.step(0)
	if e := w.next(t, "step"); *e.Step != 0 || e.State != "agree" || e.Paired != liveOps || e.Ranks != 1 {
		t.Errorf("first step: %+v", e)
	}
	good.step(1)
	for i := range 7 {
		bad.row(1, i, 1)
	}
	bad.row(1, 7, 1.5)
	stored := awaitRow(t, u, bad.name, liveOps+8)
	e := w.next(t, "divergence")
	t.Logf("reported %v after it was stored", time.Since(stored))
	if *e.Step != 1 || *e.Rank != 0 || e.Op != liveOp(7) || e.Role != "output" || e.Evidence != "statistics" || e.Verdict != "diverged" || !e.WithinStep {
		t.Errorf("divergence: %+v", e)
	}
	if end := w.next(t, "end"); end.Step == nil || *end.Step != 1 {
		t.Errorf("the end names another step than that of the divergence: %s", &end)
	}
	if status := w.status(t); status != exitDiffers {
		t.Errorf("status %d, want %d\n%s", status, exitDiffers, w.stderr)
	}
}

func TestWatchOfEndedRunsEnds(t *testing.T) {
	t.Parallel()
	u := shared(t)
	u.publish(t, recorded.Unpack(t, "D_ddp_golden"), "watch-ended-good")
	u.publish(t, recorded.Unpack(t, "D_ddp_rank1_weight"), "watch-ended-bad")
	u.publish(t, recorded.Unpack(t, "D_ddp_golden"), "watch-ended-same")
	same := process(t, u.setting, "watch", "--problem", "watch-ended-same", "--bench", "watch-ended-good", "--idle", "1s")
	if same.status != exitSame || !strings.Contains(same.stdout, "SAME after") || !strings.Contains(same.stdout, "agree") {
		t.Errorf("watch of the same: %v", same)
	}
	bad := process(t, u.setting, "watch", "--problem", "watch-ended-bad", "--bench", "watch-ended-good", "--idle", "1s")
	if bad.status != exitDiffers || !strings.Contains(bad.stdout, "DIVERGED at step 0, rank 1, op ") || !strings.Contains(bad.stdout, "DIFFERS at step 0, ") {
		t.Errorf("watch of a wrong weight on rank 1: %v", bad)
	}
}

func TestWatchSurvivesARestart(t *testing.T) {
	t.Parallel()
	u := startUp(t, t.TempDir())
	good, bad := newLiveRun(t, u, "good"), newLiveRun(t, u, "bad")
	good.step(0)
	bad.step(0)
	w := startWatch(t, u, "bad", "good", "--until-diverged", "--idle", "5m")
	w.next(t, "step")
	if err := u.kill(); err != nil {
		t.Fatal(err)
	}
	if e := w.next(t, "waiting"); !strings.HasPrefix(e.For, "the database") {
		t.Errorf("waits for %q", e.For)
	}
	startUp(t, u.data)
	w.next(t, "going_on")
	good.step(1)
	bad.row(1, 0, math.Inf(1))
	if e := w.next(t, "divergence"); *e.Step != 1 || e.Op != liveOp(0) || e.Verdict != "not_finite" || e.Side != "problem" {
		t.Errorf("divergence: %+v", e)
	}
	if status := w.status(t); status != exitDiffers {
		t.Errorf("status %d, want %d\n%s", status, exitDiffers, w.stderr)
	}
}

func TestWatchEndsWellWhenInterrupted(t *testing.T) {
	t.Parallel()
	u := shared(t)
	w := startWatch(t, u, "watch-nobody", "watch-nobody-else")
	w.next(t, "waiting")
	if err := w.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if status := w.status(t); status != exitError || !strings.Contains(w.stderr.String(), "stopped") || strings.Contains(w.stderr.String(), "panic") {
		t.Errorf("status %d, stderr %s", status, w.stderr)
	}
}

func TestWatchRefusesWhatItCannotMean(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{
		{"watch", "--problem", "a"},
		{"watch", "--problem", "a", "--bench", "b"},
		{"watch", "--problem", "a", "--bench", "b", "--output", "csv"},
		{"watch", "--problem", "a", "--bench", "b", "--idle", "-1s"},
	} {
		if out := inside(t, setting{}, args...); out.status != exitError || out.stderr == "" {
			t.Errorf("%q: %v", args, out)
		}
	}
}

func TestCompletionOffersRunsWhereASystemRuns(t *testing.T) {
	t.Parallel()
	u := shared(t)
	newLiveRun(t, u, "complete-me")
	u.settle(t)
	out := inside(t, u.setting, "__complete", "explain", "--problem", "complete-")
	if !slices.Contains(strings.Split(out.stdout, "\n"), "complete-me") {
		t.Errorf("completion: %v", out)
	}
	nothing := inside(t, setting{data: filepath.Join(t.TempDir(), "none")}, "__complete", "watch", "--bench", "")
	if nothing.status != 0 || strings.Contains(nothing.stdout+nothing.stderr, "running") {
		t.Errorf("completion without a system: %v", nothing)
	}
}

func TestWatchEventsAreReadable(t *testing.T) {
	t.Parallel()
	step, rank := int64(3), int64(1)
	e := report.WatchEvent{
		Event: "divergence", Step: &step, Rank: &rank, Op: "evil\n\x1b[31m", Role: "output", Path: "0", Verdict: "not_finite", Side: "problem",
		Evidence: "statistics", Error: report.Measure{Known: true, Value: math.Inf(1)},
	}
	if text := e.String(); strings.Contains(text, "\x1b") || !strings.Contains(text, "not finite in problem by statistics, error +Inf") {
		t.Errorf("text %q", text)
	}
	var line testbed.Buffer
	if err := e.Write(&line, report.JSON); err != nil {
		t.Fatal(err)
	}
	var object map[string]any
	if err := json.Unmarshal([]byte(line.String()), &object); err != nil || object["error"] != "Infinity" || object["step"] != 3.0 || object["tolerance"] != nil {
		t.Errorf("%s: %v, %v", line.String(), object, err)
	}
}
