package parquet

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tensortap/tensortap/consumers/consumertest"
	"github.com/tensortap/tensortap/internal/dev/forgetful"
	"github.com/tensortap/tensortap/schemas"
)

// childEnv makes this test binary write into the archive that it names until it is killed.
const childEnv = "TENSORTAP_TEST_ARCHIVE"

func TestMain(m *testing.M) {
	if forgetful.Serve() {
		return
	}
	if dir := os.Getenv(childEnv); dir != "" {
		fmt.Fprintln(os.Stderr, writeForEver(dir))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

const (
	childBatches = 60
	childRows    = 10
)

// writeForEver writes all batches of two kinds, few at a time, from the first
// on, as a delivery loop after a restart does, and prints each acknowledgement.
func writeForEver(dir string) error {
	cfg := DefaultConfig()
	cfg.Dir = dir
	w, err := New(cfg)
	if err != nil {
		return err
	}
	if _, err := w.Open(context.Background()); err != nil {
		return err
	}
	batches := childMessages()
	for first := 0; ; first = (first + 3) % childBatches {
		for kind, messages := range batches {
			part := messages[first:min(first+4, childBatches)] // overlaps the one before
			if err := w.Write(context.Background(), part); err != nil {
				return err
			}
			fmt.Printf("%s %d\n", kind, part[len(part)-1].Header.Identity.Batch)
		}
	}
}

func childMessages() map[string][]schemas.Message {
	t := &testing.T{}
	return map[string][]schemas.Message{
		"step":    consumertest.Messages(consumertest.Batches(t, "step", consumertest.Producer(9), childBatches, childRows)),
		"program": consumertest.Messages(consumertest.Batches(t, "program", consumertest.Producer(9), childBatches, childRows)),
	}
}

func TestKillsLoseAndRepeatNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	kills := 20
	if testing.Short() {
		kills = 5
	}
	acknowledged := map[string]uint64{}
	for i := range kills {
		runChild(t, dir, time.Duration(40+i*13)*time.Millisecond, acknowledged)
	}
	if acknowledged["step"] == 0 {
		t.Fatal("no child lived long enough to write")
	}
	w, r := open(t, dir)
	if r.Quarantined+r.Lost+r.DamagedLines > 0 {
		t.Fatalf("Open after %d kills = %+v, want nothing damaged", kills, r)
	}
	for kind, messages := range childMessages() {
		wantBatchesOnce(t, w, kind, acknowledged[kind])
		must(t, w.Write(t.Context(), messages))
		wantBatchesOnce(t, w, kind, childBatches-1)
	}
}

// runChild runs a child for that time, kills it, and notes the acknowledged messages.
func runChild(t *testing.T, dir string, lifetime time.Duration, acknowledged map[string]uint64) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	child := exec.CommandContext(ctx, os.Args[0]) // ending ctx kills it with -9
	child.Env = append(os.Environ(), childEnv+"="+dir)
	out, err := child.StdoutPipe()
	must(t, err)
	must(t, child.Start())
	var timer *time.Timer
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if timer == nil {
			timer = time.AfterFunc(lifetime, cancel)
		}
		var kind string
		var last uint64
		if n, _ := fmt.Sscan(lines.Text(), &kind, &last); n == 2 {
			acknowledged[kind] = max(acknowledged[kind], last)
		}
	}
	_ = child.Wait() // killed
}

func wantBatchesOnce(t *testing.T, w *Writer, kind string, last uint64) {
	t.Helper()
	count := map[uint64]int{}
	for m, err := range Saved(t.Context(), w.cfg.Dir, kind) {
		must(t, err)
		count[m.Header.Identity.Batch]++
	}
	for b, n := range count {
		if n != 1 {
			t.Errorf("batch %d of %s is stored %d times", b, kind, n)
		}
	}
	for b := range last + 1 {
		if count[b] == 0 {
			t.Errorf("batch %d of %s was acknowledged and is not stored", b, kind)
		}
	}
}

func TestSecondProcessIsToldThatTheArchiveIsInUse(t *testing.T) {
	t.Parallel()
	w, _ := open(t, t.TempDir())
	other, err := New(w.cfg)
	must(t, err)
	if _, err := other.Open(t.Context()); !errors.Is(err, ErrInUse) {
		t.Errorf("Open of an open archive = %v, want ErrInUse", err)
	}
	started, err := unix.Dup(int(w.lock.Fd())) // a process that this one starts has its files until it runs its program
	must(t, err)
	defer unix.Close(started) //nolint:errcheck // nothing is written through it
	must(t, w.Close())
	if _, err := other.Open(t.Context()); err != nil {
		t.Errorf("Open after Close = %v, want nil", err)
	}
	must(t, other.Close())
}

func TestFullDiskIsAnErrorUntilThereIsSpace(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=3m"); err != nil {
		needed(t, fmt.Sprintf("mounting a small disk is not allowed here: %v", err))
	}
	t.Cleanup(func() { must(t, unix.Unmount(dir, unix.MNT_DETACH)) })
	w, _ := open(t, filepath.Join(dir, "archive"))
	b, messages := batches(t, 40)
	must(t, w.Write(t.Context(), messages[:1]))
	filler := filepath.Join(dir, "filler")
	fillDisk(t, filler)
	for i := range 40 {
		if err := w.Write(t.Context(), messages[i:]); err != nil && !errors.Is(err, unix.ENOSPC) {
			t.Fatalf("Write on a full disk = %v, want ENOSPC", err)
		}
	}
	if err := w.Write(t.Context(), messages); !errors.Is(err, unix.ENOSPC) {
		t.Fatalf("Write on a full disk = %v, want ENOSPC", err)
	}
	wantRows(t, w, b[:1])
	if left := list(t, filepath.Join(dir, "archive")); len(left) != 1 {
		t.Errorf("files after failed writes: %v, want the first only", left)
	}
	must(t, os.Truncate(filler, 0))
	must(t, w.Write(t.Context(), messages))
	wantRows(t, w, b)
	kill(t, w)
	w, r := open(t, filepath.Join(dir, "archive"))
	if r != (Recovery{Files: 2}) {
		t.Errorf("Open = %+v, want 2 files", r)
	}
	wantRows(t, w, b)
}

// fillDisk leaves no space but a few bytes in pages that are already taken.
func fillDisk(t *testing.T, path string) {
	t.Helper()
	f, err := os.Create(path)
	must(t, err)
	for size := 1 << 20; size >= 512; {
		if _, err := f.Write(make([]byte, size)); err != nil {
			size /= 2
		}
	}
	must(t, f.Close())
}

func list(t *testing.T, dir string) []string {
	t.Helper()
	var names []string
	for _, pattern := range []string{"event=*/run=*/*", "tmp/*"} {
		found, err := filepath.Glob(filepath.Join(dir, pattern))
		must(t, err)
		names = append(names, found...)
	}
	return names
}

func wantRows(t *testing.T, w *Writer, want []consumertest.Batch) {
	t.Helper()
	var wanted []string
	for _, b := range want {
		wanted = append(wanted, b.Rows...)
	}
	got := rowsOf(t, w, "tensor")
	slices.Sort(wanted)
	slices.Sort(got)
	if !slices.Equal(got, wanted) {
		t.Errorf("tensor holds %d rows, want %d; first difference %s", len(got), len(wanted), firstDifference(got, wanted))
	}
}

func firstDifference(got, want []string) string {
	for i := range min(len(got), len(want)) {
		if got[i] != want[i] {
			return strings.Join([]string{got[i], want[i]}, "\nwant ")
		}
	}
	return "at the end"
}
