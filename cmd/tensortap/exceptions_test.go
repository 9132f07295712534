package main

import (
	"strings"
	"testing"

	"github.com/tensortap/tensortap/internal/recorded"
)

func TestAMalformedExceptionIsNamed(t *testing.T) {
	t.Parallel()
	u := startUp(t, t.TempDir())
	for _, run := range []string{"bad", "good"} {
		u.publish(t, recorded.Unpack(t, "B00_golden_L0"), run)
	}
	u.exec(t, `INSERT INTO tap_store.known_exception VALUES ('^fine$', '', '', 'not_finite', ''), ('^it\'s \\d(', 'output', '', 'not_finite', '')`)
	const remedy = `DELETE FROM tap_store.known_exception WHERE api = '^it\'s \\d(' AND role = 'output' AND path = '' AND sort = 'not_finite'`
	for _, args := range [][]string{
		{"compare", "bad", "good"},
		{"watch", "--problem", "bad", "--bench", "good", "--idle", "1s"},
		{"explain", "--problem", "bad", "--bench", "good", "--op", "Module.lm_head.Linear.forward.0"},
		{"overflow", "bad"},
		{"report", "divergence", "--problem", "bad", "--bench", "good"},
	} {
		out := inside(t, u.setting, args...)
		if out.status != exitError || !strings.Contains(out.stderr, remedy) || !strings.Contains(out.stderr, "cannot compile") {
			t.Errorf("%s: %v\nwant the remedy %s, and why", args[0], out, remedy)
		}
	}
	u.exec(t, remedy)
	if out := inside(t, u.setting, "compare", "bad", "good"); out.status != exitSame {
		t.Errorf("compare, after the remedy: %v", out)
	}
}
