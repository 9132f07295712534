package attack

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/tensortap/tensortap/e2e/internal/program"
)

// TestATokenIsInNoAddressLogOrListOfProcesses uses a token of the page in each way, and in wrong ones, and looks for it afterwards.
func TestATokenIsInNoAddressLogOrListOfProcesses(t *testing.T) {
	t.Parallel()
	u := program.Shared(t)
	file := filepath.Join(t.TempDir(), "tokens")
	made := program.Run(t, u.Setting, "token", "new", "--tokens", file, "--role", "operator", "--name", "anna")
	if made.Status != program.ExitSame {
		t.Fatal(made)
	}
	token := strings.TrimSpace(made.Stdout)
	serve := program.NewUp(u.Data, program.Command(t, program.Setting{Data: u.Data}, "serve", "--listen", "127.0.0.1:0", "--tokens", file))
	if err := serve.Begin(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = serve.Kill() })
	var page []string
	if err := program.Await(patience, "the page", func() bool {
		page = regexp.MustCompile(`serves the page at (http://\S+/),`).FindStringSubmatch(serve.Stdout.String())
		return page != nil
	}); err != nil {
		t.Fatal(err, serve.Stderr)
	}
	api := page[1] + "api/v1/"
	for _, asked := range []struct {
		method, address, body, header string
		status                        int
	}{
		{http.MethodGet, api + "runs", "", "Bearer " + token, http.StatusOK},
		{http.MethodPost, api + "login", `{"token":"` + token + `"}`, "", http.StatusOK},
		{http.MethodGet, api + "runs?token=" + token, "", "", http.StatusUnauthorized},
		{http.MethodGet, api + "runs?access_token=" + token, "", "Basic " + token, http.StatusUnauthorized},
		{http.MethodPost, api + "login", `{"password":"` + token + `"}`, "", http.StatusBadRequest},
		{http.MethodPost, api + "sql", `{"query":"SELECT nothing FROM nowhere"}`, "Bearer " + token, http.StatusBadRequest},
	} {
		request, err := http.NewRequestWithContext(t.Context(), asked.method, asked.address, strings.NewReader(asked.body))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Authorization", asked.header)
		request.Header.Set("Content-Type", "application/json")
		got, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(got.Body)
		_ = got.Body.Close()
		if got.StatusCode != asked.status {
			t.Errorf("%s %s: status %d, want %d: %.200s", asked.method, asked.address, got.StatusCode, asked.status, body)
		}
		cookie := strings.Join(got.Header.Values("Set-Cookie"), "; ")
		if cookie != "" && (!strings.Contains(cookie, "HttpOnly") || !strings.Contains(cookie, "SameSite=Strict")) {
			t.Errorf("a script, or another site, has the cookie %s", strings.ReplaceAll(cookie, token, "TOKEN"))
		}
		got.Header.Del("Set-Cookie")
		if said := fmt.Sprint(got.Header) + string(body); strings.Contains(said, token) {
			t.Errorf("%s %s: the answer has the token in it", asked.method, asked.address)
		}
	}
	kept, err := os.ReadFile(file)
	if err != nil || strings.Contains(string(kept), token) {
		t.Errorf("the file of tokens has one in it, not its digest: %v", err)
	}
	if logged := serve.Stdout.String() + serve.Stderr.String() + u.Stdout.String() + u.Stderr.String(); strings.Contains(logged, token) {
		t.Error("the token is in what the servers say")
	}
	processes, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil || len(processes) == 0 {
		t.Fatalf("no list of processes: %v", err)
	}
	for _, process := range append(processes, fmt.Sprintf("/proc/%d/environ", serve.Cmd.Process.Pid)) {
		if line, err := os.ReadFile(process); err == nil && strings.Contains(string(line), token) { // another may have ended
			t.Errorf("the token is in %s", process)
		}
	}
}
