package resend_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/tensortap/tensortap/analysis/resend"
	"github.com/tensortap/tensortap/producers/requests"
)

// said is what a server got.
type said struct {
	mutex  sync.Mutex
	bodies []map[string]any
	tokens []string // of authorization
}

// serve answers each request, whose body is noted.
func serve(t *testing.T, answer func(w http.ResponseWriter, body map[string]any)) (string, *said) {
	t.Helper()
	got := &said{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body map[string]any
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			t.Errorf("what was sent: %v", err)
		}
		body["route"] = r.URL.Path
		got.mutex.Lock()
		got.bodies, got.tokens = append(got.bodies, body), append(got.tokens, r.Header.Get("Authorization"))
		got.mutex.Unlock()
		answer(w, body)
	}))
	t.Cleanup(server.Close)
	return server.URL, got
}

// generated is an answer as of SGLang.
func generated(tokens ...string) string {
	triples := make([]string, len(tokens))
	for i, text := range tokens {
		triples[i] = fmt.Sprintf(`[-0.%d, %d, %q]`, i+1, 100+int(text[len(text)-1]), text)
	}
	return fmt.Sprintf(`{"text": %q, "meta_info": {"id": "there", "prompt_tokens": 4, "output_token_logprobs": [%s]}}`, strings.Join(tokens, ""), strings.Join(triples, ","))
}

func answers(text string) func(http.ResponseWriter, map[string]any) {
	return func(w http.ResponseWriter, _ map[string]any) { _, _ = w.Write([]byte(text)) }
}

func asked(id, body string) requests.Recorded {
	return requests.Recorded{ID: id, Route: "/generate", Body: json.RawMessage(body)}
}

// run sends the requests, and returns the outcome with its text.
func run(t *testing.T, cfg resend.Config, all ...requests.Recorded) (*resend.Outcome, string) {
	t.Helper()
	exchanges, err := resend.Run(t.Context(), cfg, all, func(int64, int64) {})
	if err != nil {
		t.Fatal(err)
	}
	o := &resend.Outcome{Config: cfg, Exchanges: exchanges, Rows: resend.Rows(&cfg, exchanges)}
	var text bytes.Buffer
	if err := o.WriteText(&text, 20); err != nil {
		t.Fatal(err)
	}
	return o, text.String()
}

func to(servers ...string) resend.Config {
	cfg := resend.DefaultConfig()
	cfg.Servers, cfg.Seed = servers, 7
	return cfg
}

func requireText(t *testing.T, text string, want ...string) {
	t.Helper()
	for _, part := range want {
		if !strings.Contains(text, part) {
			t.Errorf("the text lacks %q:\n%s", part, text)
		}
	}
}

func TestNothingOfARequestIsLeftToChance(t *testing.T) {
	t.Parallel()
	url, got := serve(t, answers(generated(" a")))
	cfg := to(url + "/")
	cfg.Model, cfg.Token = "mine", "secret"
	all := []requests.Recorded{
		asked("1", `{"rid": "old", "text": "x", "sampling_params": {"temperature": 0.8, "max_new_tokens": 9007199254740993}, "stream": true, "top_logprobs_num": 5}`),
		asked("2", `{"input_ids": [1, 2], "sampling_params": [{"temperature": 1}, {}]}`),
		{ID: "3", Route: "/v1/completions", Body: json.RawMessage(`{"model": "theirs", "prompt": "x", "temperature": 1, "stream": true, "stream_options": {}, "request_id": "old"}`)},
		{ID: "4", Route: "/v1/chat/completions", Body: json.RawMessage(`{"model": "theirs", "messages": [], "top_logprobs": 3}`)},
		{ID: "5", Route: "/mine", Body: json.RawMessage(`{"temperature": 1, "question": "x"}`)},
	}
	run(t, cfg, all...)
	want := []string{
		`{"return_logprob":true,"return_text_in_logprobs":true,"route":"/generate","sampling_params":{"max_new_tokens":9007199254740992,"sampling_seed":7,"temperature":0},"stream":false,"text":"x"}`,
		`{"input_ids":[1,2],"return_logprob":true,"return_text_in_logprobs":true,"route":"/generate","sampling_params":[{"sampling_seed":7,"temperature":0},{"sampling_seed":7,"temperature":0}],"stream":false}`,
		`{"logprobs":1,"model":"mine","prompt":"x","route":"/v1/completions","seed":7,"stream":false,"temperature":0}`,
		`{"logprobs":true,"messages":[],"model":"mine","route":"/v1/chat/completions","seed":7,"stream":false,"temperature":0}`,
		`{"question":"x","route":"/mine","temperature":0}`,
	}
	for i, body := range got.bodies {
		text, err := json.Marshal(body)
		if err != nil || string(text) != want[i] || got.tokens[i] != "Bearer secret" {
			t.Errorf("request %d: %s (%v), want %s", i, text, err, want[i])
		}
	}
}

func TestTheFirstTokenThatDiffersIsNamed(t *testing.T) {
	t.Parallel()
	good, _ := serve(t, answers(generated(" the", " sky", " is")))
	bad, _ := serve(t, answers(generated(" the", " sea", " was")))
	o, text := run(t, to(bad, good), asked("r1", `{"text": "x"}`))
	r := o.Rows[0]
	if resend.Whole(o.Rows) != resend.Differs || *r.Token != 1 || *r.Character != 6 || r.Sides[0].Token != " sea" || *r.Sides[1].Logprob != -0.2 || *r.LogprobDifference != 0 {
		t.Errorf("%+v", r)
	}
	requireText(t, text, "DIFFERS: 1 answer differs, 0 are the same", "request r1: token 1 is the first that differs",
		"  "+bad+`: " sea", log probability -0.2 (there)`, "  "+good+`: " sky", log probability -0.2 (there)`)
	step := &resend.Step{Run: "bad", Step: 9}
	if err := o.Locate(func(p resend.Place) (*resend.Step, error) {
		if p.Request != "there" || p.Index != 1 || *p.PromptTokens != 4 {
			t.Errorf("looked for %+v", p)
		}
		return step, nil
	}); err != nil || o.Rows[0].Sides[0].Step != step {
		t.Errorf("located: %v, %+v", err, o.Rows[0])
	}
}

func TestAnswersOfEachAPIAreCompared(t *testing.T) {
	t.Parallel()
	completion := `{"id": "cmpl-1", "choices": [{"index": 0, "text": " a%s", "logprobs": {"tokens": [" a", "%s"], "token_logprobs": [-0.5, null]}}], "usage": {"prompt_tokens": 3}}`
	chat := `{"id": "chat-1", "choices": [{"index": 0, "message": {"content": "é%s"}, "logprobs": {"content": [{"token": "é", "logprob": -1}, {"token": "%s", "logprob": -2}]}}]}`
	plain := `{"id": "p", "choices": [{"index": 0, "text": "same"}, {"index": 1, "text": "é%s%s"}]}`
	for name, form := range map[string]string{"completion": completion, "chat": chat, "no tokens": plain} {
		first, _ := serve(t, answers(fmt.Sprintf(form, " b", " b")))
		second, _ := serve(t, answers(fmt.Sprintf(form, " c", " c")))
		o, text := run(t, to(first, second), requests.Recorded{ID: "r", Route: "/v1/completions", Body: json.RawMessage(`{}`)})
		r := o.Rows[len(o.Rows)-1]
		if r.Verdict != resend.Differs || *r.Character != int64(strings.Count(name, "completion"))+2 || (r.Token == nil) != (name == "no tokens") {
			t.Errorf("%s: %+v\n%s", name, r, text)
		}
		o, _ = run(t, to(first, first+"/"), requests.Recorded{ID: "r", Route: "/v1/completions", Body: json.RawMessage(`{}`)})
		if resend.Whole(o.Rows) != resend.Same {
			t.Errorf("%s: %+v", name, o.Rows)
		}
	}
}

func TestARecordedAnswerStandsForASecondServer(t *testing.T) {
	t.Parallel()
	url, _ := serve(t, answers(generated(" the", " sky")))
	greedy, random := `{"text": "x", "sampling_params": {"temperature": 0}}`, `{"text": "x", "sampling_params": {"temperature": 0.7}}`
	for _, c := range []struct {
		body, answer string
		want         resend.Verdict
		text         string
	}{
		{greedy, " the sky", resend.Same, "SAME: 0 answers differ, 1 is the same"},
		{greedy, " the sea", resend.Differs, "  recorded: \"ea\"\n"},
		{random, " the sea", resend.Unknown, "UNKNOWN: 0 answers differ, 0 are the same, of 1 nothing can be said (r: the recorded answer was left to chance"},
		{greedy, "", resend.Unknown, "the recording has no answer"},
	} {
		one := asked("r", c.body)
		if c.answer != "" {
			one.Answers = []string{c.answer}
		}
		o, text := run(t, to(url), one)
		if got := resend.Whole(o.Rows); got != c.want {
			t.Errorf("%q: %s", c.answer, got)
		}
		if c.want == resend.Differs && *o.Rows[0].Token != 1 {
			t.Errorf("token %d, want 1", *o.Rows[0].Token)
		}
		requireText(t, text, c.text)
	}
}

func TestReasoningIsPartOfAnAnswerOnce(t *testing.T) {
	t.Parallel()
	for _, message := range []string{
		`{"reasoning_content": "so ", "content": "a"}`,
		`{"reasoning": "so ", "content": "a"}`,
		`{"reasoning": "so ", "reasoning_content": "so ", "content": "a"}`,
	} {
		url, _ := serve(t, answers(`{"id": "chat-1", "choices": [{"index": 0, "message": `+message+`}]}`))
		one := asked("r", `{"messages": [], "temperature": 0}`)
		one.Route, one.Answers = "/v1/chat/completions", []string{"so a"}
		if o, text := run(t, to(url), one); resend.Whole(o.Rows) != resend.Same {
			t.Errorf("%s: %s", message, text)
		}
	}
}

func TestServersThatCannotBeAreRefused(t *testing.T) {
	t.Parallel()
	for want, servers := range map[string][]string{
		"0 servers": nil, "both servers are http://a": {"http://a", "http://a"}, `"localhost:30000": want one as http://`: {"localhost:30000"}, "3 servers": {"http://a", "http://b", "http://c"},
	} {
		if _, err := resend.Run(t.Context(), to(servers...), nil, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", servers, err)
		}
	}
}

func TestTheTableHasARowForEachAnswer(t *testing.T) {
	t.Parallel()
	url, _ := serve(t, answers("["+generated(" a")+","+generated(" b")+"]"))
	other, _ := serve(t, answers("["+generated(" a")+","+generated(" c")+"]"))
	o, _ := run(t, to(url, other), asked("r", `{"text": ["x", "y"]}`))
	record := resend.Record(o.Rows)
	if record.NumRows() != 2 || o.Rows[0].Verdict != resend.Same || o.Rows[1].Verdict != resend.Differs || o.Rows[1].Part != 1 {
		t.Errorf("%+v", o.Rows)
	}
}
