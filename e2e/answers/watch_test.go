package answers

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tensortap/tensortap/analysis/report"
	"github.com/tensortap/tensortap/e2e/internal/program"
	"github.com/tensortap/tensortap/internal/dev/recorded"
	"github.com/tensortap/tensortap/internal/dev/testbed"
	"github.com/tensortap/tensortap/pipelines"
	"github.com/tensortap/tensortap/schemas"
)

// liveRun publishes a run row by row, as a collector in a training would.
type liveRun struct {
	t         *testing.T
	u         *program.Up
	name      string
	publisher *pipelines.Publisher
	batches   map[string]uint64
	seq       uint64
	epoch     uint64
	rank      uint32
	checksum  uint64 // that msProbe took of every tensor; 0 for none
}

// liveOps is how many ops a step has; each has one output.
const liveOps = 20

func liveOp(i int) string { return fmt.Sprintf("Functional.live.%d.forward", i) }

func newLiveRun(t *testing.T, u *program.Up, name string) *liveRun {
	t.Helper()
	return newRunFrom(t, u, name, "rank")
}

// newRunFrom says where the times of the run come from: one of rank runs on for a minute after its last event, one of
// file has ended when all of its steps are whole.
func newRunFrom(t *testing.T, u *program.Up, name, source string) *liveRun {
	t.Helper()
	client := u.Client(t)
	t.Cleanup(client.Close)
	cfg := pipelines.DefaultConfig().Publish
	cfg.SpillDir = t.TempDir()
	publisher, err := pipelines.NewPublisher(cfg, program.ConnectStream(t, u.Endpoint.NATS), time.Now, nil)
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
		op := schemas.ParseOpName(liveOp(i))
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
	message, err := rows.Message(schemas.Identity{RunID: schemas.RunID(l.name), Rank: l.rank, Epoch: l.epoch, Batch: l.batches[kind]})
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

// awaitRow returns when the database shows the rows of a run, and when that was.
func awaitRow(t *testing.T, u *program.Up, run string, rows int) time.Time {
	t.Helper()
	client := u.Client(t)
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
	u := program.Shared(t)
	w := program.Watch(t, u, "watch-live-bad", "watch-live-good", "--until-diverged", "--idle", "5m")
	if e := w.Next(t, "waiting"); e.For != "run watch-live-bad" {
		t.Errorf("waits for %q first", e.For)
	}
	good := newLiveRun(t, u, "watch-live-good")
	bad := newLiveRun(t, u, "watch-live-bad")
	good.step(0)
	bad.step(0)
	if e := w.Next(t, "step"); *e.Step != 0 || e.State != "agree" || e.Paired != liveOps || e.Ranks != 1 {
		t.Errorf("first step: %+v", e)
	}
	good.step(1)
	for i := range 7 {
		bad.row(1, i, 1)
	}
	bad.row(1, 7, 1.5)
	stored := awaitRow(t, u, bad.name, liveOps+8)
	e := w.Next(t, "divergence")
	t.Logf("reported %v after it was stored", time.Since(stored))
	if *e.Step != 1 || *e.Rank != 0 || e.Op != liveOp(7) || e.Role != "output" || e.Evidence != "statistics" || e.Verdict != "diverged" || !e.WithinStep {
		t.Errorf("divergence: %+v", e)
	}
	if end := w.Next(t, "end"); end.Step == nil || *end.Step != 1 {
		t.Errorf("the end names another step than that of the divergence: %s", &end)
	}
	if status := w.Status(t); status != program.ExitDiffers {
		t.Errorf("status %d, want %d\n%s", status, program.ExitDiffers, w.Stderr)
	}
}

func TestWatchOfEndedRunsEnds(t *testing.T) {
	t.Parallel()
	u := program.Shared(t)
	u.Publish(t, recorded.Unpack(t, "D_ddp_golden"), "watch-ended-good")
	u.Publish(t, recorded.Unpack(t, "D_ddp_rank1_weight"), "watch-ended-bad")
	u.Publish(t, recorded.Unpack(t, "D_ddp_golden"), "watch-ended-same")
	same := program.Run(t, u.Setting, "watch", "--problem", "watch-ended-same", "--bench", "watch-ended-good", "--idle", "1s")
	if same.Status != program.ExitSame || !strings.Contains(same.Stdout, "SAME after") || !strings.Contains(same.Stdout, "agree") {
		t.Errorf("watch of the same: %v", same)
	}
	bad := program.Run(t, u.Setting, "watch", "--problem", "watch-ended-bad", "--bench", "watch-ended-good", "--idle", "1s")
	if bad.Status != program.ExitDiffers || !strings.Contains(bad.Stdout, "DIVERGED at step 0, rank 1, op ") || !strings.Contains(bad.Stdout, "DIFFERS at step 0, ") {
		t.Errorf("watch of a wrong weight on rank 1: %v", bad)
	}
}

func TestWatchSurvivesARestart(t *testing.T) {
	t.Parallel()
	u := program.StartUp(t, t.TempDir())
	good, bad := newLiveRun(t, u, "good"), newLiveRun(t, u, "bad")
	good.step(0)
	bad.step(0)
	w := program.Watch(t, u, "bad", "good", "--until-diverged", "--idle", "5m")
	w.Next(t, "step")
	if err := u.Kill(); err != nil {
		t.Fatal(err)
	}
	if e := w.Next(t, "waiting"); !strings.HasPrefix(e.For, "the database") {
		t.Errorf("waits for %q", e.For)
	}
	program.StartUp(t, u.Data)
	w.Next(t, "going_on")
	good.step(1)
	bad.row(1, 0, math.Inf(1))
	if e := w.Next(t, "divergence"); *e.Step != 1 || e.Op != liveOp(0) || e.Verdict != "not_finite" || e.Side != "problem" {
		t.Errorf("divergence: %+v", e)
	}
	if status := w.Status(t); status != program.ExitDiffers {
		t.Errorf("status %d, want %d\n%s", status, program.ExitDiffers, w.Stderr)
	}
}

func TestWatchEndsWellWhenInterrupted(t *testing.T) {
	t.Parallel()
	u := program.Shared(t)
	w := program.Watch(t, u, "watch-nobody", "watch-nobody-else")
	w.Next(t, "waiting")
	if err := w.Cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if status := w.Status(t); status != program.ExitError || !strings.Contains(w.Stderr.String(), "stopped") || strings.Contains(w.Stderr.String(), "panic") {
		t.Errorf("status %d, stderr %s", status, w.Stderr)
	}
}

func TestWatchOfAMistypedRunNamesTheNearest(t *testing.T) {
	t.Parallel()
	u := program.PublishOnce(t, "B00_golden_mix")
	w := program.Watch(t, u, "B00_golden_mx", "B00_golden_mix")
	if e := w.Next(t, "waiting"); len(e.Nearest) == 0 || e.Nearest[0] != "B00_golden_mix" {
		t.Errorf("waits for %q, the nearest %q", e.For, e.Nearest)
	}
	if err := w.Cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	w.Status(t)
}

func TestWatchOfARankThatIsNotThereNamesThoseThatAre(t *testing.T) {
	t.Parallel()
	u := program.PublishOnce(t, "D_ddp_golden", "D_ddp_rank1_weight")
	w := program.Watch(t, u, "D_ddp_rank1_weight", "D_ddp_golden", "--rank", "9", "--idle", "1s")
	if e := w.Next(t, "waiting"); e.For != "rank 9 of run D_ddp_rank1_weight, which has no such rank; its ranks: 0-1" {
		t.Errorf("waits for %q", e.For)
	}
	if e := w.Next(t, "end"); e.State != "unknown" || e.Because != "run D_ddp_rank1_weight has no rank 9; its ranks: 0-1" {
		t.Errorf("ends: %s", &e)
	}
	if status := w.Status(t); status != program.ExitError {
		t.Errorf("status %d, want %d\n%s", status, program.ExitError, w.Stderr)
	}
}

func TestWatchWaitsForARankThatComesLater(t *testing.T) {
	t.Parallel()
	u := program.Shared(t)
	good, bad := newLiveRun(t, u, "watch-rank-good"), newLiveRun(t, u, "watch-rank-bad")
	good.step(0)
	bad.step(0)
	w := program.Watch(t, u, bad.name, good.name, "--rank", "1", "--idle", "5m")
	const rank = "rank 1 of run watch-rank-bad"
	for !strings.HasPrefix(w.Next(t, "waiting").For, rank) { // at first for the runs themselves
	}
	for _, l := range []*liveRun{good, bad} {
		l.rank, l.epoch = 1, l.epoch+1
		l.batches = map[string]uint64{}
		send(l, "rank", &schemas.RankRow{RunID: schemas.RunID(l.name), Rank: 1, Epoch: l.epoch, TP: -1, PP: -1, DP: -1, CP: -1, EP: -1})
	}
	for w.Next(t, "going_on").For != rank { // without it this fails
	}
	if err := w.Cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	w.Status(t)
}

func TestWatchRefusesWhatItCannotMean(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{
		{"watch", "--problem", "a"},
		{"watch", "--problem", "a", "--bench", "b"},
		{"watch", "--problem", "a", "--bench", "b", "--output", "csv"},
		{"watch", "--problem", "a", "--bench", "b", "--idle", "-1s"},
	} {
		if out := program.Run(t, program.Setting{}, args...); out.Status != program.ExitError || out.Stderr == "" {
			t.Errorf("%q: %v", args, out)
		}
	}
}

func TestCompletionOffersRunsWhereASystemRuns(t *testing.T) {
	t.Parallel()
	u := program.Shared(t)
	newLiveRun(t, u, "complete-me")
	u.Settle(t)
	out := program.Run(t, u.Setting, "__complete", "explain", "--problem", "complete-")
	if !slices.Contains(strings.Split(out.Stdout, "\n"), "complete-me") {
		t.Errorf("completion: %v", out)
	}
	nothing := program.Run(t, program.Setting{Data: filepath.Join(t.TempDir(), "none")}, "__complete", "watch", "--bench", "")
	if nothing.Status != 0 || strings.Contains(nothing.Stdout+nothing.Stderr, "running") {
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
