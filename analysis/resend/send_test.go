package resend_test

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/tensortap/tensortap/analysis/resend"
	"github.com/tensortap/tensortap/producers/requests"
)

func TestEveryWayToGetNoAnswerIsASentence(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	url, _ := serve(t, func(w http.ResponseWriter, body map[string]any) {
		switch body["text"] {
		case "refused":
			w.WriteHeader(http.StatusBadRequest)
			_, _ = w.Write([]byte(`{"error": {"message": "too long"}}`))
		case "slow":
			<-release
		case "broken":
			panic(http.ErrAbortHandler)
		case "odd":
			_, _ = w.Write([]byte(`{"embedding": []}`))
		default:
			_, _ = w.Write([]byte(generated(" a")))
		}
	})
	t.Cleanup(func() { close(release) })
	cfg := to(url)
	cfg.Timeout = 5 * time.Second // within which a busy machine answers the others
	var all []requests.Recorded
	for _, text := range []string{"refused", "slow", "broken", "odd"} {
		all = append(all, asked(text, fmt.Sprintf(`{"text": %q}`, text)))
	}
	o, text := run(t, cfg, all...)
	if resend.Whole(o.Rows) != resend.Unknown || resend.Count(o.Rows, resend.Unknown) != 4 {
		t.Errorf("%+v", o.Rows)
	}
	requireText(t, text, "2 requests were refused, the first is refused: 400 Bad Request: too long", "1 request timed out, the first is slow: no answer within 5s",
		"1 answer broke off, the first is that of broken: EOF", "UNKNOWN: 0 answers differ, 0 are the same, of 4 nothing can be said (refused: "+url+": refused: 400")
}

func TestAServerThatGoesDownEndsTheSending(t *testing.T) {
	t.Parallel()
	var server *httptest.Server
	server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(generated(" a")))
		go server.Close()
	}))
	ended := func() bool { _, err := http.Get(server.URL); return err != nil } //nolint:noctx,bodyclose // there is none
	var all []requests.Recorded
	for i := range 5 {
		all = append(all, asked(fmt.Sprint("r", i), `{"text": "x"}`))
	}
	cfg := to(server.URL)
	exchanges, err := resend.Run(t.Context(), cfg, all, func(done, _ int64) {
		for done == 1 && !ended() {
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	var states []resend.State
	for _, e := range exchanges {
		states = append(states, e.Replies[0].State)
	}
	if want := []resend.State{resend.Answered, resend.Down, resend.Unsent, resend.Unsent, resend.Unsent}; !slices.Equal(states, want) {
		t.Errorf("states %q, want %q", states, want)
	}
	o := resend.Outcome{Config: cfg, Exchanges: exchanges, Rows: resend.Rows(&cfg, exchanges)}
	var text bytes.Buffer
	if err := o.WriteText(&text, 0); err != nil {
		t.Fatal(err)
	}
	requireText(t, text.String(), server.URL+" cannot be reached: connection refused; it was to be sent request r1", "3 requests were not sent, the first is r2")
}

// At the recorded pace, requests that came together are under way together: the first is answered once the last has come.
func TestTheRecordedPaceHasRequestsAtTheSameTime(t *testing.T) {
	t.Parallel()
	const count = 8
	var arrived sync.WaitGroup
	arrived.Add(count)
	url, _ := serve(t, func(w http.ResponseWriter, _ map[string]any) {
		arrived.Done()
		arrived.Wait()
		_, _ = w.Write([]byte(generated(" a")))
	})
	var all []requests.Recorded
	for i := range count {
		one := asked(fmt.Sprint("r", i), `{"text": "x"}`)
		one.AtNs = int64(i) * int64(time.Millisecond)
		all = append(all, one)
	}
	cfg := to(url)
	cfg.Recorded = true
	o, text := run(t, cfg, all...)
	for _, e := range o.Exchanges {
		if e.Replies[0].State != resend.Answered {
			t.Errorf("%+v\n%s", e, text)
		}
	}
}
