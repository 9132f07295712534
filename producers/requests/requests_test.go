package requests_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tensortap/tensortap/producers"
	"github.com/tensortap/tensortap/producers/requests"
	"github.com/tensortap/tensortap/schemas"
)

// told is what files become.
type told struct {
	events   []schemas.RequestEventRow
	failures []schemas.FailureRow
	problems producers.Problems
}

func options() requests.Options { return requests.Options{Zone: time.UTC} }

func find(tb testing.TB, path string, with requests.Options) producers.Found {
	tb.Helper()
	found, err := requests.Tool(with).Find(path)
	if err != nil {
		tb.Fatal(err)
	}
	return found
}

func read(tb testing.TB, path string, with requests.Options) (all told) {
	tb.Helper()
	found := find(tb, path, with)
	all.problems = found.Problems
	reader := found.Reader("a run", producers.Rows{
		RequestEvent: func(r *schemas.RequestEventRow) { all.events = append(all.events, *r) },
		Failure:      func(r *schemas.FailureRow) { all.failures = append(all.failures, *r) },
	})
	for i := range found.Dumps {
		problems, err := reader(tb.Context(), i, nil)
		if err != nil {
			tb.Fatal(err)
		}
		all.problems.Count += problems.Count
		all.problems.First = append(all.problems.First, problems.First...)
	}
	return all
}

// lives are the moments in words, as "rid finished length 4 after 1.858s".
func (a told) lives() (lines []string) {
	first := map[string]int64{}
	for _, e := range a.events {
		if first[e.Request] == 0 {
			first[e.Request] = e.EventTimeNs
		}
		line := e.Request + " " + e.Moment
		if e.Reason != "" {
			line += " " + e.Reason
		}
		if e.OutputTokenCount != nil {
			line += fmt.Sprintf(" %d", *e.OutputTokenCount)
		}
		lines = append(lines, line+fmt.Sprintf(" after %v", time.Duration(e.EventTimeNs-first[e.Request]).Round(time.Millisecond)))
	}
	return lines
}

const first, second, cut = "eca95cf5acbc40809848702fb078449f", "8160ea2b1c27457784889b7e5c57d294", "9dd51b0d7cb14756ae6646a3231f795f"

func TestACrashDumpOfSGLangTellsTheLifeOfEachRequest(t *testing.T) {
	t.Parallel()
	got := read(t, "testdata/crash_dump_2026-11-21_10-03-50.pkl", options())
	want := []string{
		first + " received after 0s", first + " tokenised after 2ms", first + " scheduled after 11ms", first + " finished length 4 after 1.843s",
		second + " received after 0s", second + " tokenised after 1ms", second + " scheduled after 8ms", second + " finished length 4 after 1.855s",
		cut + " received after 0s", cut + " unfinished after 725ms",
	}
	if lives := got.lives(); !slices.Equal(lives, want) || got.problems.Count != 0 {
		t.Fatalf("%q, %+v", lives, got.problems)
	}
	if e := got.events[3]; e.Fields["sampling.max_new_tokens"] != "4" || e.Fields["cached_tokens"] != "0" || *e.PromptTokenCount != 19 || e.Rank != schemas.NoRank {
		t.Errorf("%+v", e)
	}
}

func TestEachKindOfFileTellsOfItsRequests(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]struct {
		events int
		line   string
	}{
		"2026-11-21_10-03-10.pkl":                {8, first + " finished length 4 after 1.843s"},
		"sglang-request-metrics-20261121_10.log": {8, second + " scheduled after 8ms"},
		"sglang_crash_dump.pkl":                  {4, "r-1 finished 4 after 1.5s"},
		"request_log.json.log":                   {8, first + " finished length 4 after 1.869s"},
		"vllm_request_log.txt":                   {2, "cmpl-a2408aac1265ecbf-0 received after 0s"},
	} {
		got := read(t, "testdata/"+name, options())
		if lives := got.lives(); len(lives) != want.events || !slices.Contains(lives, want.line) || got.problems.Count != 0 {
			t.Errorf("%s: %d events %q, %+v", name, len(lives), lives, got.problems)
		}
	}
}

func TestACrashSnapshotIsAFailureOfItsRank(t *testing.T) {
	t.Parallel()
	got := read(t, "testdata/crash_snapshot_1767323045_77.json", options())
	if len(got.failures) != 1 || len(got.events) != 0 || got.problems.Count != 0 {
		t.Fatalf("%+v", got)
	}
	const message = "Traceback ..., pid 77 on n1, num_running_reqs 3, waiting_queue_len 0, max_total_num_tokens 99000\nTraceback ..."
	if f := got.failures[0]; f.Type != "scheduler_exception" || f.Rank != 0 || f.Step != 10 || f.EventTimeNs != 1767323045100000000 || f.Message != message {
		t.Errorf("%+v", f)
	}
}

func TestPromptsAreHashedUnlessTheyAreKept(t *testing.T) {
	t.Parallel()
	const path, prompt = "testdata/crash_dump_2026-11-21_10-03-50.pkl", "Hello, my name is 1"
	without := read(t, path, options())
	for _, e := range without.events {
		if said := fmt.Sprintf("%+v", e); strings.Contains(said, "Hello") || e.PromptHash == 0 {
			t.Errorf("%s", said)
		}
	}
	with := read(t, path, requests.Options{KeepPrompts: true, Zone: time.UTC})
	if e := with.events[0]; e.Prompt != prompt || e.PromptHash != without.events[0].PromptHash || e.Epoch != 0 && e.Epoch == without.events[0].Epoch {
		t.Errorf("%+v", e)
	}
}

// The collector hashes the ids of tokens: so the same request is found in both.
func TestIdsOfTokensAreHashedAsTheCollectorDoes(t *testing.T) {
	t.Parallel()
	got := read(t, "testdata/sglang_crash_dump.pkl", options())
	const want uint64 = 13041116711478803063 // of prompt_of([1, 2, 3])
	if e := got.events[0]; e.Request != "r-1" || e.PromptHash != want {
		t.Errorf("%+v, want hash %d", e, want)
	}
}

func TestAFolderIsAllThatTellsOfRequestsInIt(t *testing.T) {
	t.Parallel()
	found := find(t, "testdata", options())
	if len(found.Dumps) != 9 || found.Problems.Count != 0 {
		t.Errorf("%+v", found)
	}
	for _, path := range []string{t.TempDir(), "requests.go", filepath.Join(t.TempDir(), "none")} {
		if _, err := requests.Tool(options()).Find(path); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", path, err)
		}
	}
}

func TestAHostilePickleIsRefusedByName(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"os.system":         "\x80\x04cos\nsystem\n(S",
		"posix.system":      "\x80\x04\x8c\x05posix\x8c\x06system\x93\x8c\x02id\x85R.",
		"builtins.eval":     "\x80\x04cbuiltins\neval\n\x8c\x011\x85R.",
		"subprocess.Popen":  "\x80\x04}(\x8c\x08requestscsubprocess\nPopen\n\x8c\x02id\x85Ru.",
		"builtins.getattr":  "\x80\x04c__builtin__\ngetattr\n)R.",
		"importlib.reload":  "\x80\x04cimportlib\nreload\n)R.",
		"operator.attrcall": "\x80\x04coperator\nattrcall\n)R.",
	} {
		path := filepath.Join(t.TempDir(), "crash_dump.pkl")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		asked := strings.Replace(name, "builtins.getattr", "__builtin__.getattr", 1)
		for _, at := range []string{path, filepath.Dir(path)} {
			_, err := requests.Tool(options()).Find(at)
			if err == nil || !strings.Contains(err.Error(), asked) || !strings.Contains(err.Error(), path) || errors.Is(err, requests.ErrNoRequests) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

// Each file is cut at every 100th byte, and has a byte changed there.
func TestFilesCutAnywhereAndChangedAnywhereLoseNothingElse(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // the same each time
	files, err := filepath.Glob("testdata/*.*")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range files {
		whole, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		good := read(t, path, options()).lives()
		for at := 0; at < len(whole); at += 100 {
			changed := slices.Clone(whole)
			changed[at] = byte(random.IntN(256))
			if whole[at] != '\n' { // nobody sees that a file lacks the lines that follow
				requireKept(t, filepath.Base(path), whole[:at], good)
			}
			requireNoCrash(t, filepath.Base(path), changed)
		}
	}
}

// requireKept fails the test unless what is read of the beginning of a file is the beginning of what is in it, and a cut is told.
func requireKept(t *testing.T, name string, content []byte, good []string) {
	t.Helper()
	got, ok := readContent(t, name, content)
	lives := got.lives()
	if !ok {
		return // too short to be recognised, which is an error
	}
	if len(lives) > len(good) || !slices.Equal(lives, good[:len(lives)]) {
		t.Errorf("%s cut at %d: %q", name, len(content), lives)
	}
	if len(lives) < len(good) && got.problems.Count == 0 && content[len(content)-1] != '\n' {
		t.Errorf("%s cut at %d: %d of %d moments, and no loss is told", name, len(content), len(lives), len(good))
	}
}

func requireNoCrash(t *testing.T, name string, content []byte) {
	t.Helper()
	if got, ok := readContent(t, name, content); ok && len(got.events)+len(got.failures)+got.problems.Count == 0 {
		t.Errorf("%s changed: neither rows nor a loss", name)
	}
}

func readContent(t *testing.T, name string, content []byte) (told, bool) {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(path, time.Time{}, time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)); err != nil {
		t.Fatal(err)
	}
	if _, err := requests.Tool(options()).Find(path); err != nil {
		return told{}, false
	}
	return read(t, path, options()), true
}

// What servers print about requests stands among much else, with braces of its own.
func TestOfWhatAServerPrintsOnlyRequestsAreRead(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		said []string
		want []string
	}{
		{
			[]string{
				"(APIServer pid=7) WARNING 11-26 01:19:40 [request_logger.py:30] `--enable-log-requests` is set but the minimum log level is higher than DEBUG.",
				"(EngineCore pid=8) INFO 11-26 01:19:40 [core.py:1] config {'a': 1}",
				"(APIServer pid=7) INFO 11-26 01:20:06 [request_logger.py:65] Received request chatcmpl-x: params: SamplingParams(n=1), lora_request: None.",
				"(APIServer pid=7) INFO 11-26 01:20:06 [async_llm.py:578] Added request chatcmpl-x-0a1b2c3d.",
				"(APIServer pid=7) INFO 11-26 01:20:07 [request_logger.py:120] Generated response chatcmpl-x: output: '{1 2}', finish_reason: length",
				"(APIServer pid=7) INFO 11-26 01:20:07 [request_logger.py:120] Generated response chatcmpl-y (streaming delta): output: '1', finish_reason: None",
				"(APIServer pid=7) INFO 11-26 01:20:08 [async_llm.py:922] Aborted request(s) a-0,b-0.",
				"(APIServer pid=7) INFO 11-26 01:20:09 [async_llm.py:789] Request cmpl-z-0 failed (engine dead).",
			},
			[]string{
				"chatcmpl-x received after 0s", "chatcmpl-x-0a1b2c3d scheduled after 0s", "chatcmpl-x finished length after 2s",
				"a-0 aborted after 0s", "b-0 aborted after 0s", "cmpl-z-0 aborted engine dead after 0s",
			},
		},
		{
			[]string{
				"[2026-11-26 01:22:00] server_args=ServerArgs(model_path='m', preferred={'a': 1})",
				`{"timestamp": "2026-11-26T01:22:36", "event": "request.received", "rid": "r", "obj": {}}`,
				"[2026-11-26 01:22:46 TP0] gloo: {'func_name': 'all_reduce'}",
				`{"timestamp": "2026-11-26T01:22:37", "event": "request.finished", "rid": "r", "obj": {}, "out": {"meta_info": {"finish_reason": {"type": "length"}}}}`,
			},
			[]string{"r received after 0s", "r finished length after 1s"},
		},
	} {
		path := filepath.Join(t.TempDir(), "engine.log")
		if err := os.WriteFile(path, []byte(strings.Join(c.said, "\n")+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		got := read(t, path, options())
		if lives := got.lives(); !slices.Equal(lives, c.want) || got.problems.Count != 0 {
			t.Errorf("%q, want %q; %+v", lives, c.want, got.problems)
		}
	}
}
