package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tensortap/tensortap/internal/recorded"
)

func TestADumpThatWasCutShortSaysSoEverywhere(t *testing.T) {
	t.Parallel()
	u := publishOnce(t, "B00_golden_mix")
	dir := recorded.Unpack(t, "B00_golden_mix")
	path := filepath.Join(dir, "step1", "rank0", "dump.json")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, int64(len(text)/2)); err != nil {
		t.Fatal(err)
	}
	out := u.publish(t, dir, "cut short")
	lastOp := text[:len(text)/2]
	for _, part := range []string{"warning: " + path + " at byte ", `, op "`, "ends inside"} {
		if !strings.Contains(out.stderr, part) {
			t.Errorf("publish: %v, want %q", out, part)
		}
	}
	if _, op, _ := strings.Cut(out.stderr, `op "`); !strings.Contains(string(lastOp), op[:strings.Index(op, `"`)+1]) {
		t.Errorf("publish names an op that is not in the file: %v", out)
	}
	u.settle(t)
	rows := u.query(t, "SELECT step, count(), uniqExact(op_id) FROM tap.tensors WHERE run = 'cut short' GROUP BY step ORDER BY step")
	if len(rows) != 2 || rows[0][1] != "1815" || number(t, rows[1][1]) < 700 || number(t, rows[1][1]) > 1200 {
		t.Errorf("steps, rows, ops: %v, want 1815 of step 0 and about half as many of step 1", rows)
	}
	completeness := inside(t, u.setting, "report", "completeness", "--run", "cut short")
	if completeness.status != 0 || !strings.HasPrefix(completeness.stderr, "INCOMPLETE: run cut short rank 0: ") {
		t.Errorf("completeness: %v", completeness)
	}
	compared := inside(t, u.setting, "compare", "cut short", "B00_golden_mix")
	if compared.status != 2 || !strings.HasPrefix(compared.stdout, "INCOMPLETE ") || !strings.Contains(compared.stdout, "UNKNOWN ") {
		t.Errorf("compare: %v, want INCOMPLETE first and status 2", compared)
	}
	folders := process(t, setting{}, "compare", dir, filepath.Join(filepath.Dir(dir), "dump"), "--output", "json")
	if got := parseAnswer(t, folders); folders.status != 2 || got.Incomplete == "" || got.Verdict != "unknown" {
		t.Errorf("compare folders: %v", folders)
	}
}
