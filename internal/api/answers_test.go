package api

import (
	"compress/gzip"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// answerOnce has an answer written, and kept if it can be.
func answerOnce(t *testing.T, k *answers, status int, tag, body string) {
	t.Helper()
	r := &recording{ResponseWriter: httptest.NewRecorder()}
	if tag != "" {
		r.Header().Set("ETag", tag)
	}
	r.Header().Set("Content-Type", "text/plain")
	r.WriteHeader(status)
	if _, err := io.WriteString(r, body); err != nil {
		t.Fatal(err)
	}
	k.keep(r)
}

// askKept asks for what is kept, as a client that takes these encodings.
func askKept(k *answers, tag, encodings string) (*httptest.ResponseRecorder, bool) {
	w, r := httptest.NewRecorder(), httptest.NewRequestWithContext(context.Background(), http.MethodGet, "/", http.NoBody)
	r.Header.Set("Accept-Encoding", encodings)
	return w, k.write(w, r, tag)
}

func TestAnAnswerIsKeptForWhoAsksAgain(t *testing.T) {
	t.Parallel()
	k := newAnswers(1 << 20)
	body := strings.Repeat("the same again, ", 1000)
	answerOnce(t, k, http.StatusOK, `W/"a"`, body)
	w, found := askKept(k, `W/"a"`, "br")
	if !found || w.Body.String() != body || w.Header().Get("ETag") != `W/"a"` || w.Header().Get("Content-Type") != "text/plain" || w.Header().Get("Content-Encoding") != "" {
		t.Errorf("kept as it was written: %v, header %v, %d bytes", found, w.Header(), w.Body.Len())
	}
	w, found = askKept(k, `W/"a"`, "gzip, br")
	if !found || w.Header().Get("Content-Encoding") != "gzip" || w.Body.Len() > len(body)/10 {
		t.Fatalf("kept compressed: %v, header %v, %d bytes", found, w.Header(), w.Body.Len())
	}
	plain, err := gzip.NewReader(w.Body)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(plain); err != nil || string(got) != body {
		t.Errorf("%d bytes (%v), want %d", len(got), err, len(body))
	}
}

func TestNoOtherAnswerIsKept(t *testing.T) {
	t.Parallel()
	k := newAnswers(1 << 20)
	answerOnce(t, k, http.StatusNotFound, `W/"a"`, "there is none")
	answerOnce(t, k, http.StatusOK, "", "an answer that may change with no event")
	for _, tag := range []string{`W/"a"`, ""} {
		if w, found := askKept(k, tag, ""); found {
			t.Errorf("%q is answered by %q", tag, w.Body)
		}
	}
}

func TestTheAnswerThatNobodyAskedForIsForgottenFirst(t *testing.T) {
	t.Parallel()
	one := newAnswers(1 << 20)
	answerOnce(t, one, http.StatusOK, "0", "answer 0")
	k := newAnswers(3 * one.size)
	for _, tag := range []string{"0", "1", "2"} {
		answerOnce(t, k, http.StatusOK, tag, "answer "+tag)
	}
	askKept(k, "0", "")
	answerOnce(t, k, http.StatusOK, "3", "answer 3")
	for tag, want := range map[string]bool{"0": true, "1": false, "2": true, "3": true} {
		if w, found := askKept(k, tag, ""); found != want || found && w.Body.String() != "answer "+tag {
			t.Errorf("answer %s is kept: %v, want %v: %q", tag, found, want, w.Body)
		}
	}
}
