// Package health holds tests of what processes tell of themselves: /metrics as a real Prometheus takes them, /healthz,
// /readyz, and `tensortap doctor`.
package health

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/tensortap/tensortap/e2e/internal/program"
	"github.com/tensortap/tensortap/internal/dev/testbed"
)

func TestMain(m *testing.M) {
	os.Exit(program.Main(m))
}

// tool is a program of Debian's package prometheus.
func tool(tb testing.TB, name string) string {
	tb.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		testbed.Needed(tb, name+" is not installed: apt-get install prometheus")
	}
	return path
}

// told waits until a process has said where it tells its metrics, and returns the root of those pages.
func told(tb testing.TB, u *program.Up) string {
	tb.Helper()
	var root string
	err := program.Await(program.Patience, "the process to tell where its metrics are", func() bool {
		_, after, found := strings.Cut(u.Stderr.String(), "metrics at http://")
		address, _, whole := strings.Cut(after, "/")
		root = "http://" + address
		return found && whole
	})
	if err != nil {
		tb.Fatalf("%v\n%s", err, u.Stderr)
	}
	return root
}

// await asks from time to time until holds: each question costs a process's servers something.
func await(what string, holds func() bool) error {
	return program.Await(program.Patience, what, func() bool {
		if holds() {
			return true
		}
		time.Sleep(100 * time.Millisecond)
		return false
	})
}

// page is the status and the text of a page.
func page(tb testing.TB, url string) (int, string) {
	tb.Helper()
	request, err := http.NewRequestWithContext(context.WithoutCancel(tb.Context()), http.MethodGet, url, http.NoBody)
	if err != nil {
		tb.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, err.Error()
	}
	defer response.Body.Close() //nolint:errcheck // only read
	text, err := io.ReadAll(response.Body)
	if err != nil {
		tb.Fatal(err)
	}
	return response.StatusCode, string(text)
}

// numbers are the values of a page of metrics, by name and labels as they stand there.
func numbers(tb testing.TB, root string) map[string]string {
	tb.Helper()
	status, text := page(tb, root+"/metrics")
	if status != http.StatusOK {
		tb.Fatalf("/metrics: %d %s", status, text)
	}
	found := map[string]string{}
	for line := range strings.Lines(text) {
		if name, value, ok := cutLast(strings.TrimSpace(line)); ok && !strings.HasPrefix(line, "#") {
			found[name] = value
		}
	}
	return found
}

func cutLast(line string) (name, value string, ok bool) {
	at := strings.LastIndexByte(line, ' ')
	if at < 0 {
		return "", "", false
	}
	return line[:at], line[at+1:], true
}

// finding is a line of `tensortap doctor --output json`.
type finding struct{ Part, State, Text, Remedy string }

// doctor is what the doctor finds, and its exit status.
func doctor(tb testing.TB, s program.Setting) (int, map[string][]finding) {
	tb.Helper()
	out := program.Run(tb, s, "doctor", "--output", "json")
	var all []finding
	if err := json.Unmarshal([]byte(out.Stdout), &all); err != nil {
		tb.Fatalf("%v: %v", err, out)
	}
	parts := map[string][]finding{}
	for _, f := range all {
		parts[f.Part] = append(parts[f.Part], f)
	}
	return out.Status, parts
}

// wrong are the parts of which something is wrong.
func wrong(parts map[string][]finding) string {
	var texts []string
	for _, findings := range parts {
		for _, f := range findings {
			if f.State != "well" {
				texts = append(texts, f.State+" "+f.Part+": "+f.Text)
			}
		}
	}
	return strings.Join(texts, "\n")
}
