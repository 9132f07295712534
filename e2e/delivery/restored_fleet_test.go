package delivery

import (
	"math"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/tensortap/tensortap/e2e/internal/program"
	"github.com/tensortap/tensortap/internal/dev/recorded"
	"github.com/tensortap/tensortap/internal/dev/testbed"
	"github.com/tensortap/tensortap/internal/system"
	"github.com/tensortap/tensortap/producers"
	"github.com/tensortap/tensortap/producers/flightrecorder"
	"github.com/tensortap/tensortap/producers/kernelcalls"
	"github.com/tensortap/tensortap/producers/logfiles"
	"github.com/tensortap/tensortap/producers/memorysnapshot"
	"github.com/tensortap/tensortap/producers/msprobe"
	"github.com/tensortap/tensortap/producers/requests"
	"github.com/tensortap/tensortap/producers/scalars"
	"github.com/tensortap/tensortap/producers/sglangshapes"
	"github.com/tensortap/tensortap/schemas"
)

// Runs of a fleet that has something of every kind.
const (
	goodRun     = "good"
	badRun      = "bad"      // differs from good, is held against it as a baseline, and has logs, requests and metrics beside it
	nanRun      = "nan"      // of two ranks, and of another program
	followedRun = "followed" // of two ranks, by an agent
)

// fleet is what questions to it need to know.
type fleet struct {
	request string // one that run bad served
	op      string // one of run bad
	now     string // a moment, in nanoseconds
}

// pairsOf are the runs of reports that bad and good have nothing for.
func pairsOf() map[string][2]string {
	return map[string][2]string{
		"memory_diff": {"leaks", "leaks before"}, "memory_diff_stacks": {"leaks", "leaks before"},
		"shape_diff": {"shapes", "shapes before"}, "shape_diff_summary": {"shapes", "shapes before"},
		"unpaired": {nanRun, goodRun},
	}
}

// runsOf are the runs of reports that the followed one has nothing for, or little.
func runsOf() map[string]string {
	return map[string]string{
		"hang": "stuck", "memory_growth": "leaks", "memory_components": "leaks", "shapes": "shapes", "failing_op": "calls", "overflow": nanRun, "overflow_summary": nanRun,
		"logs": badRun, "metrics": badRun, "request": badRun, "parts": badRun, "trend": badRun,
	}
}

// storeFleet fills a system, and returns once its stores have all of it and nothing more is to come.
func storeFleet(t *testing.T, u *program.Up) *fleet {
	t.Helper()
	publishAll(t, u)
	liveRanks(t, u)
	publishOne(t, u, badMessages(t)["wrong checksum"].message)
	publishOne(t, u, wire(anAlert(t)))
	compareAll(t, u)
	awaitStored(t, program.ConnectStream(t, u.Endpoint.NATS), "clickhouse", "parquet")
	known := u.Query(t, `SELECT min(request), (SELECT min(op) FROM tap.tensors WHERE run = 'bad' AND startsWith(op, 'Module.'))
		FROM tap_store.request_event WHERE request != ''`)
	return &fleet{request: known[0][0], op: known[0][1], now: strconv.FormatInt(time.Now().UnixNano(), 10)}
}

// publishAll stores what tools have left.
func publishAll(t *testing.T, u *program.Up) {
	t.Helper()
	client := u.Client(t)
	defer client.Close()
	publish := func(tool producers.Tool, run string, labels map[string]string, path ...string) {
		t.Helper()
		request := system.PublishRequest{Path: filepath.Join(path...), Run: run, Labels: labels}
		if _, err := client.Publish(t.Context(), tool, request, func(int64, int64) {}); err != nil {
			t.Fatal(err)
		}
	}
	publish(msprobe.Tool(), goodRun, nil, recorded.Unpack(t, "B00_golden_L0"))
	baseline := system.BaselineRequest{Name: "nightly", Compare: compared("", goodRun), Labels: map[string]string{"night": "1"}}
	if _, err := client.SetBaseline(t.Context(), baseline); err != nil {
		t.Fatal(err)
	}
	publish(msprobe.Tool(), badRun, map[string]string{"night": "1"}, recorded.Unpack(t, "B02_weight_L0"))
	publish(msprobe.Tool(), nanRun, nil, recorded.Unpack(t, "D_tp_rank1_nan"))
	left := filepath.Join(recorded.Root(), "producers")
	publish(logfiles.Tool(time.UTC), badRun, nil, left, "logfiles/testdata/vllm_crash.log")
	publish(requests.Tool(requests.Options{Zone: time.UTC}), badRun, nil, left, "requests/testdata/vllm_request_log.txt")
	publish(scalars.Tool(), badRun, nil, left, "scalars/testdata/log")
	publish(flightrecorder.Tool(), "stuck", nil, left, "flightrecorder/testdata/nccl")
	publish(memorysnapshot.Tool(), "leaks", nil, left, "memorysnapshot/testdata/leak")
	publish(memorysnapshot.Tool(), "leaks before", nil, left, "memorysnapshot/testdata/torch_memory_snapshot.pickle")
	publish(kernelcalls.Tool(), "calls", nil, left, "kernelcalls/testdata/session.jsonl")
	publish(sglangshapes.Tool(), "shapes", nil, left, "sglangshapes/testdata/sglang_shapes.jsonl")
	publish(sglangshapes.Tool(), "shapes before", nil, left, "sglangshapes/testdata/sglang_shapes_old.jsonl")
}

// liveRanks has two processes be followed until they have ended.
func liveRanks(t *testing.T, u *program.Up) {
	t.Helper()
	root := filepath.Join(u.Data, "spool")
	for rank := range uint32(2) {
		s := testbed.NewSpool(t, root, testbed.SpoolOptions{Run: followedRun, Rank: rank, Epoch: 7 + uint64(rank), Fields: map[string]any{"world_size": 2}})
		for step := range uint32(3) {
			s.Step(2*step, 4)
			eventfulStep(s, rank, 2*step+1)
		}
		s.Close()
	}
	program.Served(t, root)
}

// eventfulStep writes a step with one record of each kind: rank 1 comes upon NaN as it serves a request, and its op raises.
func eventfulStep(s *testbed.Spool, rank, step uint32) {
	const op = "Module.layers.0.Linear.forward.0"
	s.Begin(step)
	s.Put(schemas.SpoolRequestKind, &schemas.SpoolRequest{Name: s.Text("req-7"), Phase: s.Text("decode"), TimeNs: s.Clock, PromptHash: 5, FirstPosition: 3, TokenCount: 1})
	seq := s.Call(op, "", 0, 0)
	s.Tensor(op, "input", "0", seq, 1)
	out := schemas.SpoolTensor{Site: s.Site(s.Op(op), "output", "0"), Layout: s.Layout(2, 2), Seq: seq, Flags: testbed.MeasuredAll, ValueMean: 1, ValueM2: 2, ValueL1: 4}
	if rank == 1 {
		out.Extra, out.ValueMean = 1, math.NaN()
	}
	s.Put(schemas.SpoolTensorKind, &out)
	if rank == 1 {
		s.Put(schemas.SpoolCountsKind, &schemas.SpoolCounts{NaNCount: 2, ValueMin: -1, ValueMax: 1})
		s.Put(schemas.SpoolFailureKind, &schemas.SpoolFailure{Op: s.Op(op), Seq: seq, Type: s.Text("ValueError"), Message: s.Text("not finite"), TimeNs: s.Clock})
	}
	stepTogether(s, rank)
	group := s.Define("group", map[string]any{"description": "tp", "ranks": []int{0, 1}, "before": 1})
	for _, state := range []uint32{schemas.SpoolCalled, schemas.SpoolCompleted} {
		s.Put(schemas.SpoolCollectiveKind, &schemas.SpoolCollective{
			Group: group, Name: s.Text("all_reduce"), TimeNs: s.Clock + int64(state), CalledNs: s.Clock, Number: uint64(step), Inputs: s.Text("float32[4]"), State: state,
		})
	}
	mm := s.Define("signature", map[string]any{"name": "aten.mm.default", "inputs": []string{"self: a", "mat2: b"}, "outputs": []string{"c"}})
	s.Put(schemas.SpoolTallyKind, &schemas.SpoolTally{Signature: mm, Module: s.Text("layers.0"), CallCount: 3})
	bytes := uint64(step) << 20
	s.Put(schemas.SpoolMemoryKind, &schemas.SpoolMemory{Device: s.Text("cuda:0"), TimeNs: s.Clock, AllocatedBytes: bytes + 1, ReservedBytes: bytes + 1, PeakBytes: bytes + 1, HostResidentBytes: 900})
	s.Put(schemas.SpoolComponentKind, &schemas.SpoolComponent{Component: s.Text("kv"), Basis: s.Text("token pool"), Device: s.Text("cuda:0"), TimeNs: s.Clock, AllocatedBytes: bytes})
	s.Put(schemas.SpoolMemoryKind, &schemas.SpoolMemory{Op: s.Op(op), Device: s.Text("cuda:0"), TimeNs: s.Clock, AllocatedBytes: bytes + 7, ReservedBytes: bytes + 7, PeakBytes: bytes + 7})
	s.Put(schemas.SpoolUnseenKind, &schemas.SpoolUnseen{Reason: s.Text("compiled"), Subject: s.Text("layers.1"), Count: 3, TimeNs: s.Clock})
	s.End(step, 0)
}

// stepTogether writes what an optimizer steps with, and a collective whose result is another on each rank.
func stepTogether(s *testbed.Spool, rank uint32) {
	const settings, reduce = "Optimizer.AdamW.settings.0", "Distributed.all_reduce.0.forward"
	s.Number(settings, "0.lr", s.Call(settings, "", 0, 0), 0.001)
	seq := s.Call(reduce, "", 0, 0)
	group := s.Define("layout", map[string]any{"kind": "group", "literal": `{"group_ranks": [0, 1]}`})
	s.Put(schemas.SpoolTensorKind, &schemas.SpoolTensor{Site: s.Site(s.Op(reduce), "kwarg", "group"), Layout: group, Seq: seq, Flags: schemas.SpoolLiteral})
	s.Tensor(reduce, "output", "0", seq, float32(rank)+1)
}

// publishOne publishes a message as it is.
func publishOne(t *testing.T, u *program.Up, m *nats.Msg) {
	t.Helper()
	if _, err := program.ConnectStream(t, u.Endpoint.NATS).PublishMsg(t.Context(), m); err != nil {
		t.Fatal(err)
	}
}

// anAlert is what the alert role publishes: a role would go on asking its rules.
func anAlert(t *testing.T) schemas.Message {
	t.Helper()
	rows := schemas.NewBuilder[schemas.AlertRow]()
	rows.Append(&schemas.AlertRow{Ordinal: 1, Rule: "first-divergence", RunName: badRun, State: "firing", Severity: "critical", Summary: "run bad differs", Fingerprint: 7})
	m, err := rows.Message(schemas.Identity{RunID: schemas.RunID(badRun), Epoch: 1})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// compareAll stores comparisons, and waits for the judge of the baseline.
func compareAll(t *testing.T, u *program.Up) {
	t.Helper()
	client := u.Client(t)
	defer client.Close()
	for _, problem := range []string{nanRun, badRun} {
		if _, _, err := client.Compare(t.Context(), compared(problem, goodRun)); err != nil {
			t.Fatal(err)
		}
	}
	err := program.Await(3*time.Minute, "the baseline to be judged", func() bool {
		table, err := client.Table(t.Context(), "SELECT count() AS found FROM tap.declared_comparisons WHERE standing AND comparison_id IN (SELECT comparison_id FROM tap.origins)", nil)
		return err == nil && table.Get(0, "found").Exact == "1"
	})
	if err != nil {
		t.Fatal(err)
	}
}
