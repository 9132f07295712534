package collector

import (
	"bytes"
	"os"
	"path/filepath"
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
	python := torch.Python(t)
	for _, c := range []struct {
		name, switched string
		line           string // while it waits
		rows           string // afterwards
	}{
		{"sleeps", "SLEEP=2", "hang: rank 2 did not come to all_reduce, call 11 of group default_pg [0-3]; waiting for ", ""},
		{"skips", "SKIP=2", "hang: ranks differ in all_reduce, call 11 of group default_pg [0-3]: rank 2: barrier", "default_pg [0-3]|11|all_reduce|other call||0 1 2 3|rank 2: barrier|"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			told := filepath.Join(t.TempDir(), "told")
			s := program.Setting{Data: t.TempDir(), Env: []string{
				"TENSORTAP_SPOOL=" + t.TempDir(), "XDG_CACHE_HOME=" + t.TempDir(), "OMP_NUM_THREADS=1", "TOLD=" + told, c.switched,
			}}
			cmd := program.Command(t, s, "run", "--run", "job", "--", filepath.Join(filepath.Dir(python), "torchrun"), "--nproc-per-node", "4", "testdata/hangs.py")
			var stderr said
			cmd.Stderr = &stderr
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			if err := program.Await(4*time.Minute, "a line about the hang", func() bool { return strings.Contains(stderr.String(), c.line) }); err != nil {
				t.Errorf("%v: %s", err, stderr.String())
			}
			if err := os.WriteFile(told, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			if c.rows != "" {
				_ = cmd.Process.Signal(syscall.SIGTERM) // of the program
			}
			_ = cmd.Wait() // status is that of the program
			out := program.Run(t, s, "report", "hang", "--run", "job", "--output", "csv")
			var rows []string
			for _, row := range program.ParseCSV(t, out.Stdout)[1:] {
				rows = append(rows, strings.Join(row, "|"))
			}
			if got := strings.Join(rows, "\n"); !strings.HasPrefix(got, c.rows) || c.rows == "" && got != "" {
				t.Errorf("report hang: %q, want %q: %s", got, c.rows, stderr.String())
			}
		})
	}
}
