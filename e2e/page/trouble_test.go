package page

import (
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tensortap/tensortap/e2e/internal/program"
	"github.com/tensortap/tensortap/e2e/internal/torch"
)

// recordTrouble stores a run with raw tensors and logs that lives, the same with another weight and a rank that dies, a hang
// and requests.
func recordTrouble(t *testing.T, u *program.Up) {
	t.Helper()
	ranks, err := filepath.Abs("../scene/testdata")
	if err != nil {
		t.Fatal(err)
	}
	for name, more := range map[string][]string{"lives": nil, "dies": {"WRONG=1", "DIES=2"}} {
		s := u.Setting
		s.Env = append([]string{"PYTHONPATH=" + ranks, "TENSORTAP_SPOOL=" + t.TempDir()}, more...)
		out := program.Run(t, s, "run", "--run", name, "--task", "tensor", "--level", "mix", "--steps", "0-4", "--", torch.Python(t), "testdata/dies.py")
		if died := len(more) > 0; out.Status != 0 != died {
			t.Fatalf("run %s: %v", name, out)
		}
	}
	for _, args := range [][]string{
		{"flight-recorder", "../../producers/flightrecorder/testdata/pickle", "--run", "stuck"},
		{"requests", "../../producers/requests/testdata/request_log.json.log", "--run", "served"},
	} {
		if out := program.Run(t, u.Setting, append([]string{"publish"}, args...)...); out.Status != 0 {
			t.Fatalf("publish %q: %v", args, out)
		}
	}
}

// requireSameTensors holds what the API says of raw tensors against the command line.
func requireSameTensors(t *testing.T, u *program.Up) {
	t.Helper()
	const of = "&op=Module.1.query.Linear.forward.0&role=parameter&path=weight&rank=0&step=1"
	flags := strings.Fields(strings.NewReplacer("&", " --", "=", " ").Replace(of))
	for path, args := range map[string][]string{
		"tensor?run=dies":                      {"tensor", "show", "--run", "dies"},
		"tensor/diff?problem=dies&bench=lives": {"tensor", "diff", "--problem", "dies", "--bench", "lives"},
		"tensor/diff?problem=dies&bench=dies":  {"tensor", "diff", "--problem", "dies", "--bench", "dies"},
	} {
		want := program.Run(t, u.Setting, append(append(args, flags...), "--output", "json")...)
		if got := ask(t, address(t, u)+"api/v1/"+path+of); got != want.Stdout || got == "" {
			t.Errorf("%s: %.500s\nthe command: %v", path, got, want)
		}
	}
}

func ask(t *testing.T, url string) string {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close() //nolint:errcheck // only read
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
