package scene

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/tensortap/tensortap/e2e/internal/program"
	"github.com/tensortap/tensortap/e2e/internal/torch"
)

// said is what a program has written so far.
type said struct {
	mutex sync.Mutex
	text  bytes.Buffer
}

func (s *said) Write(p []byte) (int, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.text.Write(p)
}

func (s *said) String() string {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.text.String()
}

// TestACollectiveThatWaitsIsToldWithTheRankThatHoldsItUp launches jobs of four ranks, in which rank 2 sleeps until the hang
// was told, or leaves out a reduction: then the others wait until they are stopped.
func TestACollectiveThatWaitsIsToldWithTheRankThatHoldsItUp(t *testing.T) {
	t.Parallel()
	python, data := torch.Python(t), t.TempDir()
	up := program.StartUp(t, data)
	for _, c := range []struct {
		name, switched string
		line           string // while it waits
		rows           string // afterwards
		slow           string // the rank that the others waited for in step 5
	}{
		{"sleeps", "SLEEP=2", "hang: rank 2 did not come to all_reduce, call 11 of group default_pg [0-3]; waiting for ", "", "2"},
		{"skips", "SKIP=2", "hang: ranks differ in all_reduce, call 11 of group default_pg [0-3]: rank 2: barrier", "default_pg [0-3]|11|all_reduce|other call||0 1 2 3|rank 2: barrier|", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			told := filepath.Join(t.TempDir(), "told")
			s := program.Setting{Data: data, Env: []string{ // each collector's spool is read by its own run
				"TENSORTAP_SPOOL=" + t.TempDir(), "OMP_NUM_THREADS=1", "TOLD=" + told, c.switched,
			}}
			cmd := program.Command(t, s, "run", "--run", c.name, "--", python, "testdata/hangs.py")
			var stderr said
			cmd.Stderr = &stderr
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			if err := program.Await(4*time.Minute, "a line about the hang", func() bool { return strings.Contains(stderr.String(), c.line) }); err != nil {
				t.Errorf("%v: %s", err, stderr.String())
			}
			if err := program.Await(4*time.Minute, "a line in the log of up", func() bool { return strings.Contains(up.Stderr.String(), c.line) }); err != nil {
				t.Errorf("%v: %s", err, up.Stderr.String())
			}
			if err := os.WriteFile(told, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			if c.rows != "" {
				_ = cmd.Process.Signal(syscall.SIGTERM) // of the program
			}
			_ = cmd.Wait() // status is that of the program
			if n := strings.Count(up.Stderr.String(), c.line); n != 1 {
				t.Errorf("up says it %d times: %s", n, up.Stderr.String())
			}
			out := program.Run(t, s, "report", "hang", "--run", c.name, "--output", "csv")
			var rows []string
			for _, row := range program.ParseCSV(t, out.Stdout)[1:] {
				rows = append(rows, strings.Join(row, "|"))
			}
			if c.slow != "" {
				wantSlow(t, s, c.name, c.slow, "5")
			}
			if got := strings.Join(rows, "\n"); !strings.HasPrefix(got, c.rows) || c.rows == "" && got != "" {
				t.Errorf("report hang: %q, want %q: %s", got, c.rows, stderr.String())
			}
		})
	}
}

// wantSlow wants that rank and step first, and that most of the time of that step is the rank's own, and waiting for the others.
func wantSlow(t *testing.T, s program.Setting, run, rank, step string) {
	t.Helper()
	phases := []string{"report", "phases", "--run", run, "--output", "csv"}
	out := program.Run(t, s, append(phases, "--columns", "rank,step")...)
	if !strings.HasPrefix(out.Stdout, "rank,step\n"+rank+","+step+"\n") {
		t.Fatalf("want rank %s in step %s first: %v", rank, step, out)
	}
	out = program.Run(t, s, append(phases, "--all", "1", "--steps", step, "--columns", "rank,wall_ms,own_ms,waited_ms")...)
	rows := program.ParseCSV(t, out.Stdout)[1:]
	if len(rows) != 4 {
		t.Errorf("want a row for each rank: %v", out)
	}
	for _, row := range rows {
		if own := number(t, row[2]); own > number(t, row[3]) != (row[0] == rank) {
			t.Errorf("rank %s worked %s ms of %s and waited %s", row[0], row[2], row[1], row[3])
		}
	}
}

func number(t *testing.T, text string) float64 {
	t.Helper()
	n, err := strconv.ParseFloat(text, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
