package answers

import (
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/tensortap/tensortap/e2e/internal/program"
	"github.com/tensortap/tensortap/pipelines"
	"github.com/tensortap/tensortap/schemas"
)

// deeds are the columns of the report of audit that are no chance, for deeds on that run or target.
func deeds(t *testing.T, u *program.Up, about string) (lines []string) {
	t.Helper()
	out := program.Run(t, u.Setting, "report", "audit", "--limit", "0", "--output", "csv", "--columns", "deed,run,target,result,reason,system_user,nats_user")
	if out.Status != program.ExitSame {
		t.Fatal(out)
	}
	address, err := url.Parse(u.Endpoint.NATS)
	if err != nil {
		t.Fatal(err)
	}
	if secret := address.User.Username(); secret == "" || strings.Contains(out.Stdout, secret) {
		t.Errorf("the report shows the token %q: %s", secret, out.Stdout)
	}
	for _, row := range program.ParseCSV(t, out.Stdout)[1:] {
		if row[1] != about && row[2] != about {
			continue
		}
		if row[5] == "" {
			t.Errorf("nobody did %q", row)
		}
		lines = append(lines, strings.TrimRight(strings.Join(row[:5], " "), " "))
	}
	slices.Reverse(lines) // the earliest first
	return lines
}

func TestWhoChangesSomethingIsWrittenDown(t *testing.T) {
	t.Parallel()
	u := program.PublishOnce(t, "B00_golden_mix")
	requireLines(t, u, []line{
		{"baseline set audited --run B00_golden_mix --match team=none", 0, "is set"},
		{"baseline remove audited", 0, "is removed"},
		{"baseline remove audited", program.ExitError, "no baseline is named"},
		{"runs pin audited", program.ExitError, "no run is named"},
		{"poke --run audited", program.ExitError, "no process of it lives"},
	})
	if got, want := deeds(t, u, "audited"), []string{
		"baseline set  audited done", "baseline remove  audited done", "baseline remove  audited failed no baseline is named", "pin audited  failed no run is named", "poke audited  failed ask run audited to poke",
	}; len(got) != len(want) || !slices.EqualFunc(got, want, strings.HasPrefix) {
		t.Errorf("deeds\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestWhoIsKilledLeavesADeedWithoutResult kills a command while it waits for a rank that no agent serves.
func TestWhoIsKilledLeavesADeedWithoutResult(t *testing.T) {
	t.Parallel()
	u := program.Shared(t)
	js := program.ConnectStream(t, u.Endpoint.NATS)
	if _, err := pipelines.Admit(t.Context(), js, pipelines.StartRequest{RunID: schemas.RunID("unserved"), Epoch: 1}); err != nil {
		t.Fatal(err)
	}
	stop := program.NewUp(u.Data, program.Command(t, u.Setting, "stop", "--run", "unserved", "--timeout", "10m"))
	if err := stop.Begin(); err != nil {
		t.Fatal(err)
	}
	err := program.Await(program.Patience, "the line before the deed", func() bool { return len(deeds(t, u, "unserved")) > 0 })
	if err := stop.Kill(); err != nil {
		t.Error(err)
	}
	if err != nil {
		t.Fatalf("%v\n%s", err, stop.Stderr)
	}
	if got := deeds(t, u, "unserved"); len(got) != 1 || got[0] != "stop unserved  unknown" {
		t.Errorf("deeds %q, want one of which nobody knows the result", got)
	}
}
