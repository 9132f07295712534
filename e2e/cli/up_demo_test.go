package cli

import (
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/tensortap/tensortap/e2e/internal/program"
)

// The demonstration is there as soon as up says so, its verdict is as it should be, and the addresses that it says answer.
func TestUpShowsADemonstration(t *testing.T) {
	t.Parallel()
	u := program.StartUp(t, t.TempDir(), "--demo", "--listen", "127.0.0.1:0")
	if err := program.Await(program.Patience, "the demonstration", func() bool { return strings.Contains(u.Stdout.String(), "Remove them with") }); err != nil {
		t.Fatalf("%v\n%s%s", err, u.Stdout, u.Stderr)
	}
	if out := program.Run(t, u.Setting, "compare", "demo-wrong-weight", "demo-good"); out.Status != 1 || !strings.Contains(out.Stdout, "model.layers.2.mlp.down_proj") {
		t.Errorf("compare: %s", out)
	}
	if out := program.Run(t, u.Setting, "overflow", "demo-nan"); out.Status != 1 {
		t.Errorf("overflow: %s", out)
	}
	links := regexp.MustCompile(`http://\S+\?view=\S+`).FindAllString(u.Stdout.String(), -1)
	if len(links) != 2 {
		t.Errorf("up says %q, want two links", links)
	}
	for _, link := range links {
		requirePage(t, link)
	}
}

func requirePage(t *testing.T, link string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, link, nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close() //nolint:errcheck // only read
	if text, err := io.ReadAll(answer.Body); err != nil || answer.StatusCode != http.StatusOK || !strings.Contains(string(text), "<title>") {
		t.Errorf("%s answers %s, %v: %s", link, answer.Status, err, text)
	}
}
