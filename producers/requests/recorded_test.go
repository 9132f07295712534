package requests_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tensortap/tensortap/producers/requests"
	"github.com/tensortap/tensortap/schemas"
)

const (
	keptServed   = "testdata/served/41.requests" // recorded with prompts; the server died in the last request
	hashedServed = "testdata/served/42.requests" // the same without
)

func TestWhatAServerGotIsTheLifeOfItsRequests(t *testing.T) {
	t.Parallel()
	got := read(t, hashedServed, options())
	want := []string{
		"cmpl-7 received after 0s", "cmpl-7 finished length 1 after 0s", "r2 received after 0s", "r2 finished stop 2 after 0s",
		"http-42-3 received after 0s", "http-42-3 aborted status 400 after 0s", "http-42-4 received after 0s",
	}
	if lives := got.lives(); !slices.Equal(lives, want) {
		t.Errorf("lives %q, want %q", lives, want)
	}
	e := got.events[0]
	if e.Fields["route"] != "/v1/completions" || e.Fields["body"] != `{"max_tokens": 1, "temperature": 0, "model": "m"}` || e.PromptHash != 0x80093beb59e46ea6 || e.Role != "http" {
		t.Errorf("what came: %+v", e)
	}
}

func TestPromptsAndAnswersOfAServerAreStoredOnlyWhereTheUserAsks(t *testing.T) {
	t.Parallel()
	said := func(events []schemas.RequestEventRow) string {
		text, err := json.Marshal(events)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	with := options()
	for _, path := range []string{keptServed, hashedServed} {
		if text := said(read(t, path, with).events); strings.Contains(text, "the sky") || strings.Contains(text, "blue") {
			t.Errorf("%s: words are stored unasked: %s", path, text)
		}
	}
	with.KeepPrompts = true
	events := read(t, keptServed, with).events
	if f := events[0].Fields; f["body_whole"] != "true" || f["body"] != `{"model": "m", "prompt": "the sky is", "max_tokens": 1, "temperature": 0}` {
		t.Errorf("the request: %v", f)
	}
	if f := events[1].Fields; f["answers"] != `[" blue"]` || f["exchange"] != events[0].Fields["exchange"] {
		t.Errorf("the answer: %v", f)
	}
}

func recorded(t *testing.T, path string) []requests.Recorded {
	t.Helper()
	all, problems, err := requests.Read(path)
	if err != nil || problems.Count > 0 {
		t.Fatalf("read %s: %v, %v", path, err, problems)
	}
	return all
}

func TestRequestsThatCanBeSentAgain(t *testing.T) {
	t.Parallel()
	all := recorded(t, keptServed)
	if len(all) != 4 || all[0].Route != "/v1/completions" || all[0].Answers[0] != " blue" || all[3].Body == nil || all[3].Answers != nil {
		t.Errorf("of a server: %+v", all)
	}
	for _, r := range recorded(t, hashedServed) {
		if r.Body != nil || r.Missing != "its text was not kept" {
			t.Errorf("without text: %+v", r)
		}
	}
	for _, r := range recorded(t, "testdata/vllm_request_log.txt") {
		if r.Body != nil || !strings.Contains(r.Missing, "cannot be sent") {
			t.Errorf("of vLLM's log: %+v", r)
		}
	}
	for path, count := range map[string]int{"testdata/crash_dump_2026-11-21_10-03-50.pkl": 3, "testdata/request_log.json.log": 0} {
		all := recorded(t, path)
		bodies := 0
		for _, r := range all {
			var body struct {
				Text     string         `json:"text"`
				Sampling map[string]any `json:"sampling_params"`
			}
			if json.Unmarshal(r.Body, &body) == nil && r.Route == "/generate" && body.Text != "" && body.Sampling != nil {
				bodies++
			}
		}
		if bodies < count || !slices.IsSortedFunc(all, func(a, b requests.Recorded) int { return int(a.AtNs - b.AtNs) }) {
			t.Errorf("%s: %d bodies: %+v", path, bodies, all)
		}
	}
}

func TestADamagedRecordingNamesWhatIsLost(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(keptServed)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "1.requests")
	damaged := strings.Replace(string(text), `{"tensortap": "answer", "n": 2`, `{"tensortap": "answer", "lost": 3, "n": 2`, 1)
	if err := os.WriteFile(path, []byte(damaged[:len(damaged)-9]), 0o600); err != nil {
		t.Fatal(err)
	}
	all, problems, err := requests.Read(path)
	if err != nil || len(all) != 3 || problems.Count != 2 || !strings.Contains(problems.First[0], "3 requests or answers before byte") {
		t.Errorf("read: %d, %v, %v", len(all), problems, err)
	}
}

func TestWhatIsStoredAndStillThereIsSentOnceAndInOrder(t *testing.T) {
	t.Parallel()
	one := func(exchange string, atNs int64, answers ...string) requests.Recorded {
		return requests.Recorded{ID: exchange, Exchange: exchange, AtNs: atNs, Body: json.RawMessage("{}"), Answers: answers}
	}
	stored := []requests.Recorded{one("7-1", 10), one("7-2", 40), {ID: "7-3", Exchange: "7-3", AtNs: 50, Missing: requests.NotKept}, one("", 60)}
	here := []requests.Recorded{one("8-1", 5), one("7-1", 10, "blue"), one("7-2", 30), one("7-3", 50), one("", 60)}
	var got []string
	for _, r := range requests.Merge(stored, here) {
		got = append(got, fmt.Sprintf("%s at %d %v %t", r.Exchange, r.AtNs, r.Answers, r.Body != nil))
	}
	want := []string{"8-1 at 5 [] true", "7-1 at 10 [blue] true", "7-2 at 30 [] true", "7-2 at 40 [] true", "7-3 at 50 [] true", " at 60 [] true", " at 60 [] true"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestARecordingThatTheCollectorWritesIsNotTooLargeToRead(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../torch/src/tensortap/_record/http_log.py")
	if err != nil {
		t.Fatal(err)
	}
	if want := fmt.Sprintf("_MOST_BYTES: Final = %d << 20 ", requests.MostBytes>>20); !strings.Contains(string(text), want) {
		t.Errorf("the collector has another limit than %q", want)
	}
}
