package answers

import (
	"encoding/json"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tensortap/tensortap/e2e/internal/program"
	"github.com/tensortap/tensortap/internal/dev/testbed"
)

// TestCommandsOfAnAnswerNameTheFolderOfData, but not to those who have a token: they may be on another machine.
func TestCommandsOfAnAnswerNameTheFolderOfData(t *testing.T) {
	t.Parallel()
	u := program.PublishOnce(t, "B02_weight_mix", "B00_golden_mix")
	file := filepath.Join(t.TempDir(), "tokens")
	made := program.Run(t, u.Setting, "token", "new", "--tokens", file, "--role", "reader", "--name", "anna")
	guarded := program.StartServe(t, u, "--tokens", file) + "api/v1"
	const compare = "/compare?problem=B02_weight_mix&bench=B00_golden_mix"
	for want, got := range map[string]answered{
		"tensortap --data " + u.Data + " explain --problem B02_weight_mix ": get(t, apiOf(t, u)+compare),
		"tensortap explain --problem B02_weight_mix ":                       get(t, guarded+compare, "Authorization: Bearer "+strings.TrimSpace(made.Stdout)),
	} {
		var answer struct{ Next []string }
		if err := json.Unmarshal([]byte(got.body), &answer); err != nil || len(answer.Next) == 0 || !strings.HasPrefix(answer.Next[0], want) {
			t.Errorf("status %d, %v: the first command is of %q, want %q", got.status, err, answer.Next, want)
		}
	}
}

// TestTheAPISaysThatItsServersAreAway asks a live rank by an operator's token, kills the system, and starts it again.
func TestTheAPISaysThatItsServersAreAway(t *testing.T) {
	t.Parallel()
	data, spool, file := t.TempDir(), t.TempDir(), filepath.Join(t.TempDir(), "tokens")
	u := program.StartUp(t, data, "--spool", spool)
	made := program.Run(t, u.Setting, "token", "new", "--tokens", file, "--role", "operator", "--name", "anna")
	bearer := "Authorization: Bearer " + strings.TrimSpace(made.Stdout)
	if made.Status != 0 {
		t.Fatal(made)
	}
	api := program.StartServe(t, u, "--tokens", file, "--control") + "api/v1"
	live := testbed.NewSpool(t, spool, testbed.SpoolOptions{Run: "live", Epoch: 1})
	live.Step(0, 2)
	err := program.Await(program.Patience, "the live run", func() bool {
		return strings.Contains(get(t, api+"/runs", bearer).body, `"live"`)
	})
	if err != nil {
		t.Fatal(err)
	}
	poked := exchange(t, http.MethodPost, api+"/control/poke", `{"run":"live","timeout_seconds":1}`, bearer)
	var answer struct {
		Answers  []struct{ Rank int }
		Complete *bool
	}
	if err := json.Unmarshal([]byte(poked.body), &answer); err != nil || poked.status != http.StatusOK || len(answer.Answers) != 1 || answer.Complete == nil {
		t.Errorf("status %d: %s", poked.status, poked.body)
	}
	if audit := get(t, api+"/reports/audit?run=live", bearer); !strings.Contains(audit.body, `"token":"anna"`) || !strings.Contains(audit.body, `"deed":"poke"`) {
		t.Errorf("status %d: %s", audit.status, audit.body)
	}
	live.Close()
	if err := u.Kill(); err != nil {
		t.Fatal(err)
	}
	away := get(t, api+"/runs", bearer)
	if sentence, _ := problemOf(t, away); away.status != http.StatusServiceUnavailable || away.header.Get("Retry-After") == "" {
		t.Errorf("status %d, %v: %s", away.status, away.header, sentence)
	}
	again := program.NewUp(data, program.Command(t, program.Setting{Data: data}, "up", "--spool", spool))
	if err := again.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = again.Kill() })
	err = program.Await(program.Patience, "an answer by the next system", func() bool {
		got := get(t, api+"/runs", bearer)
		return got.status == http.StatusOK && strings.Contains(got.body, `"live"`)
	})
	if err != nil {
		t.Error(err)
	}
}
