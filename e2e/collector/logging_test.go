package collector

import (
	"strings"
	"testing"

	"github.com/tensortap/tensortap/e2e/internal/program"
	"github.com/tensortap/tensortap/e2e/internal/torch"
)

// TestRecordsOfLoggingHaveTheirFieldsStepAndRequest runs a program that logs and prints below run.
func TestRecordsOfLoggingHaveTheirFieldsStepAndRequest(t *testing.T) {
	t.Parallel()
	python := torch.Python(t)
	s := program.Setting{Data: t.TempDir(), Env: []string{"TENSORTAP_SPOOL=" + t.TempDir(), "OMP_NUM_THREADS=1"}}
	seen := program.Run(t, s, "run", "--run", "speaks", "--", python, "testdata/logs.py")
	if seen.Status != 0 || strings.Count(seen.Stderr, "INFO serving: serving it") != 3 {
		t.Fatalf("the program logs as ever: %v", seen)
	}
	rows := program.Run(t, s, "query", "--output", "csv", "SELECT rank, step, level, logger, request, fields['tokens'], text, o.name FROM tap.logs AS l LEFT JOIN tap_store.op AS o ON o.op_id = l.op_id WHERE stream = 'logging' AND level = 'info' ORDER BY event_time_ns")
	for _, want := range []string{"0,0,info,serving,r-1,12,serving it,Module.0.Speaking.forward.0", "0,2,info,serving,r-1,12,serving it"} {
		if !strings.Contains(strings.ReplaceAll(rows.Stdout, "\"", ""), want) {
			t.Errorf("records lack %q: %v", want, rows)
		}
	}
	all := program.Run(t, s, "logs", "--run", "speaks")
	if strings.Count(all.Stdout, "serving it") != 3 || strings.Count(all.Stdout, "ValueError: bad") != 1 || strings.Count(all.Stdout, "loss: 0.125") != 1 {
		t.Errorf("a record is shown once, though it is printed too: %v", all)
	}
	if by := program.Run(t, s, "logs", "--run", "speaks", "--request", "r-1"); strings.Count(by.Stdout, "serving it") != 3 {
		t.Errorf("of a request: %v", by)
	}
	if by := program.Run(t, s, "logs", "--run", "speaks", "--request", "r-1", "--around", "1"); !strings.Contains(by.Stdout, "serving it") {
		t.Errorf("of a request around a step: %v", by) // those of other steps are there if they were less than a second away
	}
	if loss := program.Run(t, s, "query", "--output", "csv", "SELECT rank, step, value, digits FROM tap.metrics WHERE name = 'loss'"); !strings.Contains(loss.Stdout, "0,2,0.125,3") {
		t.Errorf("the loss that was printed: %v", loss)
	}
	if crash := program.Run(t, s, "query", "--output", "csv", "SELECT rank, exception FROM tap.logs WHERE kind = 'traceback' AND stream = 'logging'"); !strings.Contains(crash.Stdout, "ValueError: bad") {
		t.Errorf("the traceback: %v", crash)
	}
}
