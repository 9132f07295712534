package doctor_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tensortap/tensortap/internal/doctor"
)

func TestProcessesElsewhereAreAsked(t *testing.T) {
	t.Parallel()
	answering := func(status int, text string) string {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/readyz" {
				t.Errorf("asked for %s", r.URL.Path)
			}
			w.WriteHeader(status)
			_, _ = io.WriteString(w, text)
		}))
		t.Cleanup(server.Close)
		return strings.TrimPrefix(server.URL, "http://")
	}
	ready, not := answering(http.StatusOK, "ready\n"), answering(http.StatusServiceUnavailable, "the stream does not answer: x\nthe database does not answer: y\n")
	in := installation(t)
	in.Processes = []string{ready, not, "127.0.0.1:1", "no\x00host"}
	findings := doctor.Examine(t.Context(), in)
	for address, want := range map[string]string{
		ready: "well: it is ready", not: "wrong: it is not ready: the stream does not answer: x; the database does not answer: y [",
		"127.0.0.1:1": "wrong: it does not answer: ", "no\x00host": "wrong: \"no\\x00host\" is no HOST:PORT",
	} {
		if got := of(findings, "process "+address); !strings.HasPrefix(got, want) {
			t.Errorf("%q: %s, want %s", address, got, want)
		}
	}
}

func TestFilesOfAddressesAreReadAsPrometheusDoes(t *testing.T) {
	t.Parallel()
	shipped, err := doctor.ReadTargets(filepath.Join("..", "..", "deploy", "prometheus", "targets", "tensortap.yml"))
	if err != nil || len(shipped) != 1 {
		t.Errorf("the shipped file: %v, %v", shipped, err)
	}
	for text, want := range map[string]string{
		"- targets: [a:1, b:2]\n  labels: {x: y}\n- targets: [c:3]\n": "a:1 b:2 c:3",
		"targets: [a:1]\n":    "want a list",
		"- labels: {x: y}\n":  "it has no targets",
		"- target: [a:1]\n":   "target",
		"- targets: {a: 1}\n": "want text",
	} {
		path := filepath.Join(t.TempDir(), "targets.yml")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		addresses, err := doctor.ReadTargets(path)
		got := strings.Join(addresses, " ")
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, want) {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}
