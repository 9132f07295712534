package logfiles_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tensortap/tensortap/producers/logfiles"
	"github.com/tensortap/tensortap/schemas"
)

// told is what logs become.
type told struct {
	lines    []schemas.LogRow
	metrics  map[string]schemas.MetricRow // by name; the last
	ranks    []uint32
	problems []string
}

func (a *told) of(tb testing.TB, text string) schemas.LogRow {
	tb.Helper()
	for _, row := range a.lines {
		if strings.Contains(row.Text, text) {
			return row
		}
	}
	tb.Fatalf("no line has %q", text)
	return schemas.LogRow{}
}

func read(tb testing.TB, path string) *told {
	tb.Helper()
	found, err := logfiles.Tool(time.UTC).Find(path)
	if err != nil {
		tb.Fatal(err)
	}
	a := &told{metrics: map[string]schemas.MetricRow{}}
	for _, dump := range found.Dumps {
		a.ranks = append(a.ranks, dump.Rank)
		source, err := dump.Open("a run", nil)
		if err != nil {
			tb.Fatal(err)
		}
		for m, err := range source.Content.Batches(tb.Context()) {
			if err != nil {
				tb.Fatal(err)
			}
			a.add(tb, m)
		}
		a.problems = append(a.problems, source.Problems().First...)
	}
	return a
}

func (a *told) add(tb testing.TB, m schemas.Message) {
	tb.Helper()
	lines, metrics := []schemas.LogRow(nil), []schemas.MetricRow(nil)
	var err error
	if m.Header.Kind == "log" {
		lines, err = schemas.DecodeRows[schemas.LogRow](m)
	} else {
		metrics, err = schemas.DecodeRows[schemas.MetricRow](m)
	}
	if err != nil {
		tb.Fatal(err)
	}
	a.lines = append(a.lines, lines...)
	for _, row := range metrics {
		a.metrics[row.Name] = row
	}
}

func write(tb testing.TB, name, content string) string {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		tb.Fatal(err)
	}
	at := time.Date(2026, 1, 3, 0, 0, 0, 0, time.UTC)
	if err := os.Chtimes(path, at, at); err != nil {
		tb.Fatal(err)
	}
	return path
}

func ns(text string) int64 {
	at, err := time.Parse("2006-01-02 15:04:05.999999999", text)
	if err != nil {
		panic(err)
	}
	return at.UnixNano()
}

func TestLinesOfSGLangAreBatchesOfTheirRanks(t *testing.T) {
	t.Parallel()
	got := read(t, "testdata/sglang_server.log")
	decode := got.of(t, "#token: 2811200")
	if decode.Rank != 6 || decode.Kind != "sglang decode batch" || decode.EventTimeNs != ns("2025-11-03 14:31:10") || decode.TimeBasis != "line in zone UTC" {
		t.Errorf("%+v", decode)
	}
	if decode.Fields["token usage"] != "1.00" || decode.Fields["#queue-req"] != "655" || decode.Fields["cuda graph"] != "True" {
		t.Errorf("%v", decode.Fields)
	}
	if prefill := got.of(t, "Prefill"); prefill.Rank != schemas.NoRank || prefill.Fields["cache hit rate"] != "0.00%" {
		t.Errorf("%+v", prefill)
	}
	ray := got.of(t, "[39913]")
	if ray.Rank != 3 || *ray.PID != 4211 || ray.Host != "10.0.0.7" || ray.Role != "SGLangEngine" {
		t.Errorf("%+v", ray)
	}
	if nan := got.of(t, "NaN in the logits"); nan.Kind != "sglang nan in logits" || nan.Rank != 3 {
		t.Errorf("%+v", nan)
	}
	if dog := got.of(t, "Scheduler watchdog"); dog.Kind != "watchdog timeout" {
		t.Errorf("%+v", dog)
	}
	if m := got.metrics["gen throughput (token/s)"]; m.Digits != 2 || m.Source != "sglang decode batch" {
		t.Errorf("%+v", m)
	}
	if m := got.metrics["token usage"]; m.Rank == 3 && *m.Step != 39913 {
		t.Errorf("%+v", m)
	}
}

func TestTheYearOfVLLMsLinesIsThatOfTheFile(t *testing.T) {
	t.Parallel()
	content, err := os.ReadFile("testdata/vllm_crash.log")
	if err != nil {
		t.Fatal(err)
	}
	got := read(t, write(t, "vllm.log", string(content)))
	fatal := got.of(t, "fatal error")
	if fatal.Level != "error" || fatal.Logger != "core.py:600" || fatal.Kind != "vllm fatal error" || fatal.EventTimeNs != ns("2025-04-11 12:00:00") {
		t.Errorf("%+v", fatal)
	}
	if m := got.metrics["kv_cache_usage"]; m.Value != 0.0785 || m.Digits != 4 || m.Source != "vllm dump" {
		t.Errorf("%+v", m)
	}
}

func TestPromptsAreLeftOut(t *testing.T) {
	t.Parallel()
	vllm := read(t, "testdata/vllm_requests.txt").of(t, "Received request cmpl-b1ff55cd65dc7999-0")
	if vllm.Request != "cmpl-b1ff55cd65dc7999-0" || *vllm.PID != 21205 || vllm.Role != "api server" || vllm.Kind != "vllm request" {
		t.Errorf("%+v", vllm)
	}
	sglang := read(t, "testdata/sglang_requests.log")
	if row := sglang.of(t, "request.received"); row.Request == "" || row.Kind != "sglang request.received" {
		t.Errorf("%+v", row)
	}
	for _, row := range sglang.lines {
		if strings.Contains(row.Text, "input_ids") {
			t.Errorf("%q", row.Text)
		}
	}
	secret := read(t, write(t, "x.log", "INFO 01-02 03:04:05 [logger.py:4] Received request a-1: prompt: 'my secret', params: SamplingParams(n=1), lora\n"))
	if text := secret.lines[0].Text; strings.Contains(text, "secret") || !strings.Contains(text, "params: SamplingParams(n=1)") {
		t.Error(text)
	}
}

func TestMegatronsRejectedResultIsOfItsRankAndIteration(t *testing.T) {
	t.Parallel()
	got := read(t, "testdata/megatron_rerun_tracker.log").lines[0]
	if got.Rank != 131 || got.Kind != "megatron rerun" || got.Host != "n17" || got.Fields["result"] != "nan" || got.EventTimeNs != ns("2026-08-22 10:11:12.000001") {
		t.Errorf("%+v", got)
	}
}

func TestNumbersOfTrainingAreMetrics(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]struct {
		name   string
		value  float64
		digits int16
		step   int64
	}{
		"step 12: loss: 0.125, lr: 1e-4\n": {"loss", 0.125, 3, 12},
		"step=3 train/loss=2.5\n":          {"train/loss", 2.5, 1, 3},
		"{'loss': 0.12, 'grad_norm': 1.5, 'learning_rate': 2e-05, 'epoch': 0.1}\n":                                                        {"learning_rate", 2e-05, 5, -1},
		"{'loss': '0.12', 'grad_norm': 'nan', 'learning_rate': '2e-05'}\n":                                                                {"loss", 0.12, 2, -1},
		" [2026-01-02 03:04:05] iteration   10/  100 | lm loss: 1.05E+01 | grad norm: 1.250 |\n":                                          {"lm loss", 10.5, 1, 10},
		"INFO 01-02 03:04:05 [loggers.py:1] Engine 000: Avg prompt throughput: 1.5 tokens/s, Running: 2 reqs, GPU KV cache usage: 0.1%\n": {"Avg prompt throughput", 1.5, 1, -1},
	} {
		got := read(t, write(t, "x.log", line))
		m, known := got.metrics[want.name]
		if !known || m.Value != want.value || m.Digits != want.digits || (want.step >= 0) != (m.Step != nil) || m.Step != nil && int64(*m.Step) != want.step {
			t.Errorf("%q: %+v of %v", line, m, got.metrics)
		}
	}
}

func TestHeadsAreUnderstood(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]schemas.LogRow{
		"2026-01-02 03:04:05,678 - my.module - WARNING - text":                         {Level: "warning", Logger: "my.module"},
		"2026-01-02T03:04:05.678+01:00 ERROR my.module: text":                          {Level: "error", Logger: "my.module", TimeBasis: "line"},
		"2026-01-02 03:04:05.678 | INFO     | a.b:f:12 - text":                         {Level: "info", Logger: "a.b:f:12"},
		"WARNING:my.module:text":                                                       {Level: "warning", Logger: "my.module", TimeBasis: "file"},
		"[rank3]:[W102 03:04:05.678 x.cpp:1] text":                                     {Rank: 3, TimeBasis: "file"},
		"[rank3]:[W0102 03:04:05.678901234 ProcessGroupNCCL.cpp:41] text":              {Rank: 3, Level: "warning", Logger: "ProcessGroupNCCL.cpp:41"},
		"E0102 03:04:05.678000 21205 torch/distributed/elastic/api.py:869] text":       {Level: "error", Logger: "torch/distributed/elastic/api.py:869"},
		"\x1b[36m(EngineCore_DP1 pid=7)\x1b[0;0m INFO 01-02 03:04:05 [core.py:1] text": {Rank: 1, Level: "info", Logger: "core.py:1", Role: "scheduler"},
		"[INFO|trainer.py:12] 2026-01-02 03:04:05,678 >> text":                         {Level: "info", Logger: "trainer.py:12"},
		"node1:4211:4300 [2] NCCL WARN text":                                           {Rank: 2, Level: "warning", Logger: "NCCL", Host: "node1", TimeBasis: "file"},
		"[2026-01-02 03:04:05 TP1 EP1] text":                                           {Rank: 1},
		"text, as anybody prints it":                                                   {TimeBasis: "file"},
	} {
		got := read(t, write(t, "x.log", line+"\n")).lines[0]
		if want.TimeBasis == "" {
			want.TimeBasis = "line in zone UTC"
		}
		if got.Rank != want.Rank || got.Level != want.Level || got.Logger != want.Logger || got.Host != want.Host || got.Role != want.Role || got.TimeBasis != want.TimeBasis {
			t.Errorf("%q: %+v", line, got)
		}
		if zone := strings.Contains(line, "+01:00"); want.TimeBasis != "file" && got.EventTimeNs/1e9 != ns("2026-01-02 03:04:05")/1e9-map[bool]int64{true: 3600}[zone] {
			t.Errorf("%q: at %s", line, time.Unix(0, got.EventTimeNs).UTC())
		}
	}
}

func TestRanksComeFromNamesElseFromTheOrderOfFiles(t *testing.T) {
	t.Parallel()
	for name, want := range map[string][]uint32{"x_rank3.log": {3}, "x.log": {0}} {
		if got := read(t, write(t, name, "a line\n")).ranks; len(got) != 1 || got[0] != want[0] {
			t.Errorf("%s: %v", name, got)
		}
	}
	dir := filepath.Join(t.TempDir(), "attempt_0", "5")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "stdout.log"), []byte("a\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := read(t, filepath.Dir(filepath.Dir(dir))).ranks; len(got) != 1 || got[0] != 5 {
		t.Errorf("%v", got)
	}
}

// A log that has grown has its old lines in their places, by which the view knows them.
func TestLinesOfALogThatGrowsKeepTheirPlaces(t *testing.T) {
	t.Parallel()
	short := read(t, write(t, "x.log", "[2026-01-02 03:04:05] a\n[2026-01-02 03:04:06] b\n")).lines
	long := read(t, write(t, "x.log", "[2026-01-02 03:04:05] a\n[2026-01-02 03:04:06] b\n[2026-01-02 03:04:07] c\n")).lines
	for i := range short {
		if short[i].Seq != long[i].Seq || short[i].EventTimeNs != long[i].EventTimeNs || short[i].Epoch == long[i].Epoch {
			t.Errorf("%+v and %+v", short[i], long[i])
		}
	}
}
