package answers

import (
	"strings"
	"testing"

	"github.com/tensortap/tensortap/e2e/internal/program"
	"github.com/tensortap/tensortap/internal/dev/recorded"
)

func TestAMalformedExceptionIsNamed(t *testing.T) {
	t.Parallel()
	u := program.StartUp(t, t.TempDir())
	for _, run := range []string{"bad", "good"} {
		u.Publish(t, recorded.Unpack(t, "B00_golden_L0"), run)
	}
	program.Execute(t, u, `INSERT INTO tap_store.known_exception VALUES ('^fine$', '', '', 'not_finite', ''), ('^it\'s \\d(', 'output', '', 'not_finite', '')`)
	const remedy = `DELETE FROM tap_store.known_exception WHERE api = '^it\'s \\d(' AND role = 'output' AND path = '' AND sort = 'not_finite'`
	for _, args := range [][]string{
		{"compare", "bad", "good"},
		{"watch", "--problem", "bad", "--bench", "good", "--idle", "1s"},
		{"explain", "--problem", "bad", "--bench", "good", "--op", "Module.lm_head.Linear.forward.0"},
		{"overflow", "bad"},
		{"report", "divergence", "--problem", "bad", "--bench", "good"},
	} {
		out := program.Run(t, u.Setting, args...)
		why := strings.Contains(out.Stderr, "cannot compile") || strings.Contains(out.Stderr, "error parsing regexp") // of the engine, of Go
		if out.Status != program.ExitError || !strings.Contains(out.Stderr, remedy) || !why {
			t.Errorf("%s: %v\nwant the remedy %s, and why", args[0], out, remedy)
		}
	}
	program.Execute(t, u, remedy)
	if out := program.Run(t, u.Setting, "compare", "bad", "good"); out.Status != program.ExitSame {
		t.Errorf("compare, after the remedy: %v", out)
	}
}
