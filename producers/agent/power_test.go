package agent_test

import (
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tensortap/tensortap/internal/dev/forgetful"
	"github.com/tensortap/tensortap/internal/dev/testbed"
	"github.com/tensortap/tensortap/schemas"
)

// The collector syncs nothing, so a loss of power may take any of its records. It must not make an agent publish other
// rows under the ids of rows that the stream has.
func TestALossOfPowerPublishesNothingElseUnderAnOldID(t *testing.T) {
	t.Parallel()
	d := forgetful.Mount(t)
	sent := recordAgent(t, d)
	d.Recording().Recover(t, 11, func(dir string, m *forgetful.Moment) {
		l := newLog(t)
		for _, mark := range m.Marks {
			l.messages[mark] = sent.messages[mark]
		}
		afterPowerLoss(t, filepath.Join(dir, "spools"), l)
		onceAtMost(t, l)
		if m.Loss == forgetful.Nothing {
			noGaps(t, l)
		}
	})
}

// recordAgent has an agent on the disk serve a process, whose pages the system writes back now and then. The agent is
// killed at many operations. Messages are marked as they go out.
func recordAgent(t *testing.T, d *forgetful.Disk) *log {
	t.Helper()
	const steps = 12
	root, l := filepath.Join(d.Dir, "spools"), newLog(t)
	l.before = func(m schemas.Message) error { d.Mark(m.ID()); return nil }
	s := testbed.NewSpool(t, root, testbed.SpoolOptions{Run: "bad", Epoch: 1, SegmentRows: 64})
	cfg := config(t, root, l)
	var failures atomic.Int64
	cfg.Tell = func(text string) {
		if strings.Contains(text, "cannot serve") {
			failures.Add(1)
		}
	}
	cfg.RetryAfter, cfg.CheckpointRows = time.Millisecond, 100
	ended := func(step int) func() bool {
		return func() bool { return failures.Load() > 0 || len(rows[schemas.StepRow](l)) > step }
	}
	for step := range steps {
		s.Step(uint32(step), 4)
		if step%2 == 0 {
			writeBack(t, s.Dir)
		}
		if step%3 > 0 {
			failures.Store(0)
			d.RefuseAfter(step)
			serveUntil(t, cfg, ended(step))
			d.Heal()
		}
		failures.Store(-1 << 40)
		s.Step(uint32(step)+100, 1) // the next window would have more records than this one had
		if step%2 == 0 {
			writeBack(t, s.Dir)
		}
		serveUntil(t, cfg, ended(2*step+1))
	}
	s.Close()
	serveUntil(t, cfg, func() bool { return processes(t, root) == 0 })
	return l
}

// writeBack syncs what the process wrote, as the system does when it likes. The names are left to the agent.
func writeBack(t *testing.T, dir string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "[dhr]*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range append(files, filepath.Dir(dir), filepath.Dir(filepath.Dir(dir))) {
		file, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		_ = file.Sync() // it may say that the disk refused a page before
		_ = file.Close()
	}
}

// afterPowerLoss runs an agent on what is left, until nothing is or it says what it cannot serve.
func afterPowerLoss(t *testing.T, root string, l *log) {
	t.Helper()
	cfg, told := config(t, root, l), &tellings{}
	cfg.Tell, cfg.DeadAfter, cfg.ScanEvery = told.add, 10*time.Millisecond, 5*time.Millisecond
	cfg.Now = func() time.Time { return time.Now().Add(time.Hour) } // no process is still making its folder
	serveUntil(t, cfg, func() bool { return processes(t, root) == 0 || told.count("cannot serve") > 0 })
	if told.count("not known") > 0 { // nobody but a person could help
		t.Errorf("told %q", told.lines)
	}
}

// noGaps fails the test unless the stream has all batches of each kind: a kill takes none.
func noGaps(t *testing.T, l *log) {
	t.Helper()
	count, last := map[string]uint64{}, map[string]uint64{}
	for _, m := range l.messages {
		kind := m.Header.Kind
		count[kind]++
		last[kind] = max(last[kind], m.Header.Identity.Batch)
	}
	for kind, n := range count {
		if n != last[kind]+1 {
			t.Errorf("%d batches of %s, the last has number %d", n, kind, last[kind])
		}
	}
}

// onceAtMost fails the test if a record came twice.
func onceAtMost(t *testing.T, l *log) {
	t.Helper()
	seen := map[uint64]bool{}
	for _, m := range l.messages {
		if m.Header.Kind != "tensor" {
			continue
		}
		tensors, err := schemas.AppendRows[schemas.TensorRow](nil, m)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range tensors {
			if seen[r.Seq] {
				t.Errorf("record %d came twice", r.Seq)
			}
			seen[r.Seq] = true
		}
	}
}
