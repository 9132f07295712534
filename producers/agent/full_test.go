package agent_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/tensortap/tensortap/internal/dev/testbed"
	"github.com/tensortap/tensortap/producers/agent"
	"github.com/tensortap/tensortap/schemas"
)

// smallDisk is a root of spools on a disk of its own.
func smallDisk(tb testing.TB, size string) string {
	tb.Helper()
	dir := tb.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "mode=0700,size="+size); err != nil {
		reason := fmt.Sprintf("mounting a small disk is not allowed here: %v", err)
		if os.Getenv("REQUIRE_SERVICES") == "1" {
			tb.Fatal(reason)
		}
		tb.Skip("SKIPPED: " + reason)
	}
	tb.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			tb.Error(err)
		}
	})
	return dir
}

// filler opens a file in the folder that takes all the room of its disk.
func filler(tb testing.TB, dir string) (fill func()) {
	tb.Helper()
	file, err := os.Create(filepath.Join(dir, "filler"))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = file.Close() })
	return func() {
		for _, size := range []int{1 << 20, 1 << 16, 1 << 12, 1} {
			for err = nil; err == nil; {
				_, err = file.Write(make([]byte, size))
			}
			if !errors.Is(err, unix.ENOSPC) {
				tb.Fatal(err)
			}
		}
	}
}

// noSpools says whether every process of the root is published and gone.
func noSpools(tb testing.TB, root string) func() bool {
	tb.Helper()
	return func() bool {
		found, err := filepath.Glob(filepath.Join(root, "*-*"))
		if err != nil {
			tb.Fatal(err)
		}
		return len(found) == 0
	}
}

// onFullDisk is a spool, and an agent that makes many windows of it, on a disk that has no byte left.
func onFullDisk(tb testing.TB, steps uint32, modules int) (s *testbed.Spool, l *log, cfg agent.Config, fill func()) {
	tb.Helper()
	root := smallDisk(tb, "8m")
	s, l = testbed.NewSpool(tb, root, testbed.SpoolOptions{Run: "bad", Epoch: 1, SegmentRows: 4096}), newLog(tb)
	for step := range steps {
		s.Step(step, modules)
	}
	fill = filler(tb, root)
	fill()
	cfg = config(tb, root, l)
	cfg.WindowRecords, cfg.Owner = 64, agent.Owner{PID: 1, Data: "here", Stream: "there"}
	return s, l, cfg, fill
}

func TestASpoolOnAFullDiskIsPublishedAndGivesItsRoomBack(t *testing.T) {
	t.Parallel()
	const steps, modules = 1000, 10
	s, l, cfg, fill := onFullDisk(t, steps, modules)
	s.Close()
	gone := noSpools(t, cfg.Root)
	serveUntil(t, cfg, func() bool {
		fill() // another program takes all that comes back
		return gone()
	})
	onceEach(t, l, 1, steps, 2*modules)
	contiguous(t, l)
}

func TestAgentsThatAreStoppedOnAFullDiskLoseAndDoubleNothing(t *testing.T) {
	t.Parallel()
	const steps, modules = 1000, 10
	s, l, cfg, fill := onFullDisk(t, steps, modules)
	s.Close()
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // the same each time
	var stop context.CancelFunc
	left := 0 // messages until it is stopped
	l.before = func(schemas.Message) error {
		if left--; left >= 0 {
			return nil
		}
		stop()
		return []error{nil, errors.New("the agent is gone")}[random.IntN(2)]
	}
	cfg.Tell = func(text string) {
		if !strings.HasPrefix(text, "serving ") { // it has failed, or is done
			stop()
		}
	}
	gone := noSpools(t, cfg.Root)
	for starts := 0; !gone(); starts++ {
		if starts == 2000 {
			t.Fatalf("not done after %d starts", starts)
		}
		ctx, cancel := context.WithCancel(t.Context())
		stop, left = cancel, random.IntN(50+starts/2)
		if err := agent.New(cfg).Run(ctx); err != nil {
			t.Error(err)
		}
		cancel()
		fill()
	}
	if l.repeated == 0 {
		t.Error("nothing was sent again: the test tries nothing")
	}
	onceEach(t, l, 1, steps, 2*modules)
	contiguous(t, l)
}

func TestAStepWhoseStateIsTooLargeForAFullDiskIsPublishedWhole(t *testing.T) {
	t.Parallel()
	const modules = 9000
	s, l, cfg, fill := onFullDisk(t, 1, modules)
	s.Close()
	cfg.CheckpointRows, cfg.WindowRecords = 4096, 1024
	gone := noSpools(t, cfg.Root)
	serveUntil(t, cfg, func() bool {
		fill()
		return gone()
	})
	onceEach(t, l, 1, 1, 2*modules)
	contiguous(t, l)
}

func TestASpoolOfTheCollectorOnAFullDiskIsPublished(t *testing.T) {
	t.Parallel()
	const steps, modules = 300, 25
	root, l := smallDisk(t, "8m"), newLog(t)
	writeInPython(t, root, "bad", steps, modules)
	fill := filler(t, root)
	fill()
	cfg := config(t, root, l)
	cfg.WindowRecords = 64
	gone := noSpools(t, root)
	serveUntil(t, cfg, func() bool {
		fill()
		return gone()
	})
	onceEach(t, l, 1, steps, 2*modules)
	contiguous(t, l)
}
