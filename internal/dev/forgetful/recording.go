package forgetful

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/tensortap/tensortap/internal/dev/soak"
)

// Recording is all operations on a disk, in their order.
type Recording struct {
	// Named says that to sync a file makes its name durable, and those of the folders above it. POSIX promises nothing of
	// the kind; ext4, XFS and Btrfs do it.
	Named bool

	operations []operation
}

// Moment is a disk after a loss at some moment of the recording.
type Moment struct {
	Loss  Loss
	Marks []string // that came before it

	recording *Recording
	number    int // operations before it
	seed      uint64
}

// String says which moment it is, and what came just before it.
func (m *Moment) String() string {
	lines := []string{fmt.Sprintf("after operation %d of %d, %s (seed %d); marks %q; last operations", m.number, len(m.recording.operations), m.Loss, m.seed, last(m.Marks, 3))}
	for _, op := range last(m.recording.operations[:m.number], 8) {
		lines = append(lines, m.recording.describe(op))
	}
	return strings.Join(lines, "\n\t")
}

func last[T any](all []T, most int) []T { return all[max(0, len(all)-most):] }

// Recover lays out one disk after another and has each checked, until one fails: at one of every so many moments, at all under
// make soak, in each way to lose what was not synced. The folder goes when the check returns.
func (r *Recording) Recover(tb testing.TB, every int, check func(dir string, m *Moment)) {
	tb.Helper()
	r.recover(tb, check, func(i int) bool { return (i+1)%every == 0 || i+1 == len(r.operations) || soak.InFull() })
}

// RecoverAtMarks does so at the moments of marks.
func (r *Recording) RecoverAtMarks(tb testing.TB, check func(dir string, m *Moment)) {
	tb.Helper()
	r.recover(tb, check, func(i int) bool { return r.operations[i].Kind == mark })
}

func (r *Recording) recover(tb testing.TB, check func(dir string, m *Moment), wanted func(i int) bool) {
	tb.Helper()
	disk, moments, dir := newDisk(), 0, filepath.Join(FastFolder(tb), "disk")
	disk.named = r.Named
	var marks []string
	for i, op := range r.operations {
		disk.apply(op)
		if op.Kind == mark {
			marks = append(marks, op.Name)
		}
		if !wanted(i) {
			continue
		}
		for way := range ways() {
			m := &Moment{Loss: min(Loss(way), Some), Marks: marks, recording: r, number: i + 1, seed: way}
			must(tb, disk.layOut(dir, m.Loss, random(m.number, m.seed)))
			check(dir, m)
			if tb.Failed() {
				tb.Fatalf("%s", m)
			}
			must(tb, os.RemoveAll(dir))
			moments++
		}
	}
	tb.Logf("recovered %d times from %d operations", moments, len(r.operations))
}

// FastFolder is one in memory if there is some: what recovers syncs a lot, and that is tried elsewhere.
func FastFolder(tb testing.TB) string {
	tb.Helper()
	const memory, least = "/dev/shm", 32 << 20
	var disk unix.Statfs_t
	if unix.Statfs(memory, &disk) != nil || int64(disk.Bavail)*disk.Bsize < least {
		return tb.TempDir()
	}
	dir, err := os.MkdirTemp(memory, "tensortap-test-") //nolint:usetesting // that is on a disk
	must(tb, err)
	tb.Cleanup(func() { must(tb, os.RemoveAll(dir)) })
	return dir
}

// ways is how many disks are laid out of one moment: one for each loss, and more for that which chance decides.
func ways() uint64 {
	if soak.InFull() {
		return 6
	}
	return 3
}

// random is the same for the same moment.
func random(moment int, seed uint64) *rand.Rand {
	return rand.New(rand.NewPCG(uint64(moment), seed))
}

// describe is an operation in words.
func (r *Recording) describe(op operation) string {
	at := func(folder uint64, name string) string { return filepath.Join(r.path(folder), name) }
	switch op.Kind {
	case mark:
		return "mark " + op.Name
	case create:
		return "create " + at(op.Folder, op.Name)
	case link:
		return "link " + at(op.Folder, op.Name)
	case remove:
		return "remove " + at(op.Folder, op.Name)
	case rename:
		return fmt.Sprintf("rename %s to %s", at(op.Folder, op.Name), at(op.NewFolder, op.NewName))
	case write:
		return fmt.Sprintf("write %d bytes at %d of %s", len(op.Data), op.At, r.path(op.Node))
	case truncate:
		return fmt.Sprintf("truncate %s to %d", r.path(op.Node), op.At)
	case synced:
		return "sync " + r.path(op.Node)
	}
	return "?"
}

// path is a node's first path.
func (r *Recording) path(number uint64) string {
	for _, op := range r.operations {
		if op.Kind == create && op.Node == number {
			return filepath.Join(r.path(op.Folder), op.Name)
		}
	}
	return "/"
}
