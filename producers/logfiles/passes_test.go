package logfiles_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tensortap/tensortap/producers/logfiles"
	"github.com/tensortap/tensortap/producers/producertest"
)

// pass is a line of Dynamo's trace of forward passes, as its documentation has it.
func pass(replica, counter, decoding int) string {
	return fmt.Sprintf(`{"timestamp":1250,"event":{"schema":"dynamo.fpm.trace.v1","source":{"namespace":"default","component":"backend","producer_id":"4192"},`+
		`"capture_mode":"full","observed_at_unix_ms":%d,"fpm":%s}}`, 1_782_777_601_250+counter, message(replica, counter, decoding))
}

// message is what a scheduler publishes of a pass.
func message(replica, counter, decoding int) string {
	return fmt.Sprintf(`{"version":1,"worker_id":"4192","dp_rank":%d,"counter_id":%d,"wall_time":0.025,"scheduled_requests":{"num_prefill_requests":2,`+
		`"sum_prefill_tokens":256,"var_prefill_length":100.0,"sum_prefill_kv_tokens":64,"num_decode_requests":%d,"sum_decode_kv_tokens":1024,`+
		`"var_decode_kv_tokens":50.0},"queued_requests":{"num_prefill_requests":1,"sum_prefill_tokens":128}}`, replica, counter, decoding)
}

const decodeRequests = "forward_pass.scheduled_requests.num_decode_requests"

func TestForwardPassesAreNumbersOfTheirReplica(t *testing.T) {
	t.Parallel()
	whole := pass(0, 42, 3) + "\n" + pass(1, 7, 5) + "\n"
	got := read(t, write(t, "fpm.log", whole+pass(0, 43, 3)[:300]+"\n"))
	row := got.of(t, `"counter_id":7`)
	if row.Kind != "forward pass" || row.Rank != 1 || row.TimeBasis != "line" || row.EventTimeNs != 1_782_777_601_257*int64(time.Millisecond) ||
		row.Fields["capture_mode"] != "full" || row.Fields["forward_pass.worker_id"] != "4192" {
		t.Errorf("%+v", row)
	}
	if m := got.metrics[decodeRequests]; m.Value != 5 || m.Digits != -1 || m.Source != "forward pass" || m.Rank != 1 || m.Step != nil {
		t.Errorf("%+v", m)
	}
	if m := got.metrics["forward_pass.wall_time"]; m.Value != 0.025 || m.Digits != 3 {
		t.Errorf("%+v", m)
	}
	if m, is := got.metrics["forward_pass.worker_id"]; is {
		t.Errorf("a name is a number: %+v", m)
	}
	if half := got.of(t, `"counter_id":43`); half.Kind != "" {
		t.Errorf("%+v", half)
	}
}

func TestABareMessageOfAForwardPassHasTheFilesTime(t *testing.T) {
	t.Parallel()
	row := read(t, write(t, "fpm.log", strings.ReplaceAll(message(0, 1, 2), ":", ": ")+"\n")).lines[0]
	if row.Kind != "forward pass" || row.TimeBasis != "file" || row.Fields[decodeRequests] != "2" {
		t.Errorf("%+v", row)
	}
}

// SGLang's own publisher made these messages, and its own decoder read them from the socket.
func TestMessagesOfSGLangsPublisherAreForwardPasses(t *testing.T) {
	t.Parallel()
	got := read(t, "testdata/sglang_forward_passes.log")
	if len(got.lines) != 3 || got.lines[2].Kind != "forward pass" || got.lines[2].Rank != 1 {
		t.Errorf("%+v", got.lines)
	}
	for name, value := range map[string]float64{decodeRequests: 2, "forward_pass.scheduled_requests.sum_decode_kv_tokens": 42, "forward_pass.counter_id": 2, "forward_pass.queued_requests.num_prefill_requests": 0} {
		if m := got.metrics[name]; m.Value != value || m.Source != "forward pass" {
			t.Errorf("%s: %+v", name, m)
		}
	}
}

func TestWhatOnlyLooksLikeAForwardPassIsText(t *testing.T) {
	t.Parallel()
	for _, line := range []string{
		`{"scheduled_requests": 3, "dp_rank": 99999999999999999999}`,
		`{"event": "request.received", "text": "\"scheduled_requests\""}`,
		`{"event": {"fpm": []}, "scheduled_requests": {}`,
		`{"event": {"fpm": {"scheduled_requests": null}}}`,
	} {
		if row := read(t, write(t, "x.log", line+"\n")).lines[0]; row.Kind != "" || row.Text != line {
			t.Errorf("%s: %+v", line, row)
		}
	}
}

func TestVLLMTellsOfEachIteration(t *testing.T) {
	t.Parallel()
	for _, line := range []string{
		"(APIServer pid=7) INFO 11-26 01:20:06 [loggers.py:200] Engine 000: Iteration(7): 1 context requests, 8 context tokens, 2 generation requests, 2 generation tokens, " +
			"iteration elapsed time: 33.11 ms, CPU KV cache usage: 0.1%",
		"(EngineCore pid=7) INFO 11-26 01:20:06 [core.py:310] Iteration(7): 1 context requests, 8 context tokens, 2 generation requests, 2 generation tokens, iteration elapsed time: 33.11 ms",
	} {
		got := read(t, write(t, "x.log", line+"\n"))
		for name, value := range map[string]float64{"context requests": 1, "context tokens": 8, "generation requests": 2, "generation tokens": 2, "iteration elapsed time": 33.11} {
			if m := got.metrics[name]; m.Value != value || m.Source != "vllm iteration" || m.Step == nil || *m.Step != 7 {
				t.Errorf("%s: %+v", name, m)
			}
		}
	}
}

// vLLM 0.32 itself wrote these lines.
func TestIterationsOfARealServerAreSteps(t *testing.T) {
	t.Parallel()
	got := read(t, "testdata/vllm_iterations.log")
	iterations := 0
	for _, row := range got.lines {
		if row.Kind == "vllm iteration" {
			iterations++
		}
	}
	second := got.of(t, "Iteration(1)")
	if iterations != 5 || second.Role != "api server" || second.Fields["context tokens"] != "4" || second.Fields["CPU KV cache usage"] != "0.0%" {
		t.Errorf("%d iterations, %+v", iterations, second)
	}
	if m := got.metrics["generation requests"]; m.Value != 1 || *m.Step != 4 {
		t.Errorf("%+v", m)
	}
}

func packed(tb testing.TB, text string) string {
	tb.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write([]byte(text)); err != nil {
		tb.Fatal(err)
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	return b.String()
}

func TestAPackedLogIsAsItWasBefore(t *testing.T) {
	t.Parallel()
	text := pass(0, 1, 3) + "\n" + pass(1, 2, 5) + "\n"
	plain, zipped := read(t, write(t, "dynamo-fpm.1.0.jsonl", text)), read(t, write(t, "dynamo-fpm.1.0.jsonl.gz", packed(t, text)))
	for i := range plain.lines {
		plain.lines[i].Stream, plain.lines[i].Epoch = zipped.lines[i].Stream, zipped.lines[i].Epoch
	}
	if fmt.Sprint(plain.lines) != fmt.Sprint(zipped.lines) || len(plain.lines) != 2 || len(zipped.problems) != 0 {
		t.Errorf("%+v, want %+v; %v", zipped.lines, plain.lines, zipped.problems)
	}
}

func TestOfAPackedLogThatIsCutTheLinesBeforeAreKept(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	for i := range 2000 {
		text.WriteString(pass(0, i*i, i) + "\n")
	}
	content := packed(t, text.String())
	got := read(t, write(t, "dynamo-fpm.1.0.jsonl.gz", content[:len(content)/2]))
	if len(got.lines) < 100 || len(got.problems) != 1 || !strings.Contains(got.problems[0], "cannot be unpacked") {
		t.Errorf("%d lines, %q", len(got.lines), got.problems)
	}
}

// Of a folder, what cannot be unpacked at all costs no other file.
func TestAPackedLogThatIsNoneIsNamed(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	for name, text := range map[string]string{"a.log": "a line\n", "a.log.1.gz": "no gzip", "b.gz": "not named like a log"} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	found, err := logfiles.Tool(time.UTC).Find(folder)
	if err != nil || len(found.Dumps) != 1 || found.Problems.Count != 1 || !strings.Contains(found.Problems.First[0], "a.log.1.gz") {
		t.Errorf("%v, %+v", err, found.Problems)
	}
	_, err = logfiles.Tool(time.UTC).Find(filepath.Join(folder, "a.log.1.gz"))
	if err == nil || !strings.Contains(err.Error(), "no file there has a line") || !strings.Contains(err.Error(), "cannot be unpacked") {
		t.Error(err)
	}
}

func TestForwardPassesKeepThePromisesOfProducers(t *testing.T) {
	t.Parallel()
	text := pass(0, 1, 3) + "\n" + pass(1, 2, 5) + "\n"
	producertest.ExerciseLines(t, logfiles.Tool(time.UTC), write(t, "dynamo-fpm.1.0.jsonl", text))
	producertest.Exercise(t, logfiles.Tool(time.UTC), write(t, "dynamo-fpm.1.0.jsonl.gz", packed(t, text)))
}
