package memorysnapshot_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/tensortap/tensortap/internal/dev/testbed"
	"github.com/tensortap/tensortap/producers"
	"github.com/tensortap/tensortap/producers/memorysnapshot"
	"github.com/tensortap/tensortap/schemas"
)

const mib = 1 << 20

// told is what a snapshot becomes.
type told struct {
	allocations []string // "moment state component count size requested innermost-frame"
	memories    []schemas.MemoryRow
	problems    producers.Problems
}

func read(tb testing.TB, path string) []told {
	tb.Helper()
	found, err := memorysnapshot.Tool().Find(path)
	if err != nil {
		tb.Fatal(err)
	}
	var all []told
	for i := range found.Dumps {
		source, err := found.Dumps[i].Open("a run", nil)
		if err != nil {
			tb.Fatal(err)
		}
		all = append(all, rowsOf(tb, source))
	}
	return all
}

func rowsOf(tb testing.TB, source producers.Source) (t told) {
	tb.Helper()
	stacks := map[uint64]string{}
	for m, err := range source.Content.Batches(tb.Context()) {
		if err != nil {
			tb.Fatal(err)
		}
		switch m.Header.Kind {
		case "stack":
			for _, s := range rows[schemas.StackRow](tb, m) {
				stacks[s.StackID] = s.Frames[0]
			}
		case "memory":
			t.memories = append(t.memories, rows[schemas.MemoryRow](tb, m)...)
		case "allocation":
			for _, a := range rows[schemas.AllocationRow](tb, m) {
				t.allocations = append(t.allocations, tell(a, stacks))
			}
		case "step", "rank":
			tb.Errorf("a row of kind %s, which would take the place of a recorded one", m.Header.Kind)
		}
	}
	slices.Sort(t.allocations)
	t.problems = source.Problems()
	return t
}

func tell(a schemas.AllocationRow, stacks map[uint64]string) string { //nolint:gocritic // a test
	requested := "?"
	if a.RequestedBytes != nil {
		requested = fmt.Sprint(*a.RequestedBytes)
	}
	return strings.TrimSpace(fmt.Sprintf("%s %s %s|%s %d %d %s %s", a.Device, a.Moment, a.State, a.Component, a.AllocationCount, a.SizeBytes, requested, stacks[a.StackID]))
}

func rows[R any, P schemas.Row[R]](tb testing.TB, m schemas.Message) []R {
	tb.Helper()
	decoded, err := schemas.DecodeRows[R, P](m)
	if err != nil {
		tb.Fatal(err)
	}
	return decoded
}

const (
	forward = "File /opt/torch/nn/modules/linear.py, line 125, in forward"
	keep    = "File /home/user/model.py, line 42, in keep"
	load    = "File /home/user/loader.py, line 3, in load_weights"
)

// The ring has forgotten that 8 MiB of weights were allocated, and 2 MiB that it sees freed after the peak. A block that waits for another
// stream is in use.
func TestSumsAreReckonedBackFromTheEnd(t *testing.T) {
	t.Parallel()
	got := read(t, "testdata/traps.pickle")[0]
	want := []string{
		fmt.Sprintf("cuda:0 end active|activations 1 1024 1000 %s", forward),
		fmt.Sprintf("cuda:0 end active|weights 1 %d %d %s", 8*mib, 8*mib, load),
		fmt.Sprintf("cuda:0 end awaiting free|other 1 %d %d %s", mib, mib, keep),
		fmt.Sprintf("cuda:0 end inactive| 3 %d 0", 55*mib-1024),
		fmt.Sprintf("cuda:0 peak active| 1 %d %d", 2*mib, 2*mib),
		fmt.Sprintf("cuda:0 peak active|activations 2 %d %d %s", 3*mib+1024, 3*mib+1000, forward),
		fmt.Sprintf("cuda:0 peak active|weights 1 %d %d %s", 8*mib, 8*mib, load),
	}
	if !slices.Equal(got.allocations, want) || got.problems.Count != 0 {
		t.Errorf("%q, %q; want %q", got.allocations, got.problems.First, want)
	}
	var course []uint64
	for _, m := range got.memories {
		course = append(course, *m.AllocatedBytes)
		if *m.ReservedBytes != 64*mib {
			t.Errorf("reserved %d", *m.ReservedBytes)
		}
	}
	last := got.memories[len(got.memories)-1]
	wantCourse := []uint64{10*mib + 1024, 13*mib + 1024, 13*mib + 1024, 10*mib + 1024, 10*mib + 1024, 8*mib + 1024, 9*mib + 1024, 9*mib + 1024, 9*mib + 1024}
	if !slices.Equal(course, wantCourse) {
		t.Errorf("%d, want %d", course, wantCourse)
	}
	if *last.PeakBytes != 13*mib+1024 || last.OomCount != 1 || *last.DeviceFreeBytes != 5*mib || last.EventTimeNs < 1767323045000000000 {
		t.Errorf("%+v", last)
	}
}

func TestSnapshotsAreOfTheRankAndStepInTheirNames(t *testing.T) {
	t.Parallel()
	found, err := memorysnapshot.Tool().Find("testdata/leak")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for i := range found.Dumps {
		got = append(got, fmt.Sprintf("%d/%d", found.Dumps[i].Step, found.Dumps[i].Rank))
	}
	if want := []string{"0/0", "0/1", "50/0", "50/1", "100/0", "100/1", "150/0", "150/1"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestSnapshotsWithoutStepsAreNumberedInTheirOrder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"snapshot_9.pickle", "snapshot_10.pickle", "snapshot_100.pickle"} {
		copyTo(t, filepath.Join(dir, name))
	}
	if err := os.WriteFile(filepath.Join(dir, "other.pickle"), []byte("\x80\x04]\x94."), 0o600); err != nil {
		t.Fatal(err)
	}
	found, err := memorysnapshot.Tool().Find(dir)
	if err != nil || found.Problems.Count != 1 || len(found.Dumps) != 3 {
		t.Fatalf("%+v, %v", found, err)
	}
	for i, name := range []string{"snapshot_9.pickle", "snapshot_10.pickle", "snapshot_100.pickle"} {
		if d := found.Dumps[i]; filepath.Base(d.Dir) != name || int(d.Step) != i {
			t.Errorf("%s is step %d, want %s", d.Dir, d.Step, name)
		}
	}
}

func copyTo(tb testing.TB, path string) {
	tb.Helper()
	content, err := os.ReadFile("testdata/traps.pickle")
	if err != nil {
		tb.Fatal(err)
	}
	if err := os.WriteFile(path, content, 0o600); err != nil {
		tb.Fatal(err)
	}
}

func TestOldSnapshotsHaveTheirStacksInAHistory(t *testing.T) {
	t.Parallel()
	got := read(t, "testdata/old.pickle")[0]
	if want := "cuda:0 end active|activations 1 1024 1000 " + forward; got.allocations[0] != want || got.problems.Count != 0 {
		t.Errorf("%q, %q; want %q", got.allocations, got.problems.First, want)
	}
}

// The block of this one was freed by its trace, and is in use by its segment.
func TestATraceThatDoesNotFitItsBlocksIsAProblem(t *testing.T) {
	t.Parallel()
	got := read(t, "testdata/torch_memory_snapshot.pickle")[0]
	if got.problems.Count != 1 || !strings.Contains(got.problems.First[0], "1024 bytes more are in use than reserved") {
		t.Errorf("%q", got.problems.First)
	}
	if last := got.memories[len(got.memories)-1]; *last.AllocatedBytes != 1024 || *last.ReservedBytes != 2*mib || *last.PeakBytes != 2048 || last.OomCount != 1 || *last.DeviceFreeBytes != mib {
		t.Errorf("%+v", last)
	}
	if want := "cuda:0 end active|activations 1 1024 1000 File m.py, line 10, in forward"; got.allocations[0] != want {
		t.Errorf("%q, want %q", got.allocations, want)
	}
}

func TestASegmentWhoseBlocksAreNotAllOfItIsAProblem(t *testing.T) {
	t.Parallel()
	content, err := os.ReadFile("testdata/traps.pickle")
	if err != nil {
		t.Fatal(err)
	}
	total := []byte("total_size\x94J\x00\x00\x00\x04")
	if !bytes.Contains(content, total) {
		t.Fatal("no total_size")
	}
	path := filepath.Join(t.TempDir(), "snapshot.pickle")
	if err := os.WriteFile(path, bytes.Replace(content, total, []byte("total_size\x94J\x00\x00\x00\x05"), 1), 0o600); err != nil {
		t.Fatal(err)
	}
	got := read(t, path)[0]
	if got.problems.Count != 1 || !strings.Contains(got.problems.First[0], "segment 0x7f0000000000: its total_size is 83886080, its blocks have 67108864") {
		t.Errorf("%q", got.problems.First)
	}
}

// What came before the request for code is kept, and nothing is run.
func TestAHostileSnapshotIsRefusedByName(t *testing.T) {
	t.Parallel()
	got := read(t, "testdata/hostile.pickle")[0]
	if got.problems.Count != 1 || !strings.Contains(got.problems.First[0], `it asks for "posix.system"`) || len(got.memories) == 0 {
		t.Errorf("%+v", got)
	}
	path := filepath.Join(t.TempDir(), "a.pickle")
	if err := os.WriteFile(path, []byte("cos\nsystem\n(X\x04\x00\x00\x00evil\x85R."), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := memorysnapshot.Tool().Find(path); err == nil || !strings.Contains(err.Error(), `it asks for "os.system"`) {
		t.Errorf("%v", err)
	}
}

func TestSnapshotsCutAnywhereKeepWhatCameBefore(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"traps.pickle", "old.pickle", "leak/rank1_step150.pickle", "torch_memory_snapshot.pickle"} {
		whole, err := os.ReadFile("testdata/" + name)
		if err != nil {
			t.Fatal(err)
		}
		wanted := read(t, "testdata/"+name)[0].allocations
		for cut := 100; cut < len(whole); cut += 100 {
			got, found := readBytes(t, whole[:cut])
			if !found {
				t.Fatalf("%s cut at %d is not found to be a snapshot", name, cut)
			}
			if got.problems.Count == 0 {
				t.Errorf("%s cut at %d: %+v", name, cut, got)
			}
			for _, m := range got.memories { // the end is known or nothing is
				if m.AllocatedBytes == nil || !containsAll(wanted, got.allocations) {
					t.Errorf("%s cut at %d: %+v", name, cut, got)
				}
			}
		}
	}
}

func containsAll(all, some []string) bool {
	return !slices.ContainsFunc(some, func(s string) bool { return !slices.Contains(all, s) })
}

func readBytes(tb testing.TB, content []byte) (told, bool) {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), "snapshot.pickle")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		tb.Fatal(err)
	}
	if _, err := memorysnapshot.Tool().Find(path); err != nil {
		return told{}, false
	}
	return read(tb, path)[0], true
}

func TestSnapshotsWithChangedBytesAreReadOrRefused(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // the same each time
	for _, name := range []string{"traps.pickle", "old.pickle", "hostile.pickle"} {
		whole, err := os.ReadFile("testdata/" + name)
		if err != nil {
			t.Fatal(err)
		}
		for range 150 {
			changed := slices.Clone(whole)
			for range 1 + random.IntN(4) {
				changed[random.IntN(len(changed))] = byte(random.IntN(256))
			}
			readBytes(t, changed)
		}
	}
}

func FuzzSnapshot(f *testing.F) {
	for _, name := range []string{"traps.pickle", "old.pickle", "hostile.pickle"} {
		content, err := os.ReadFile("testdata/" + name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(content)
	}
	f.Fuzz(func(t *testing.T, content []byte) { readBytes(t, content) })
}

// What is kept depends on what is different and on what is live, not on the number of events.
func TestALongTraceTakesNoMoreMemoryThanAShortOne(t *testing.T) { //nolint:paralleltest // it measures the heap
	short, long := heapNearTheEnd(t, 40_000), heapNearTheEnd(t, 400_000)
	if long > short+short/4+mib {
		t.Errorf("%d bytes for ten times the events, %d for the others", long, short)
	}
}

// PyTorch's own pickler does not cut lists into batches.
func TestATraceOfOneBatchIsRead(t *testing.T) {
	t.Parallel()
	var inOne, cut bytes.Buffer
	const events = 200_000
	if err := errors.Join(testbed.WriteSnapshotInBatches(&inOne, events, events), testbed.WriteMemorySnapshot(&cut, events)); err != nil {
		t.Fatal(err)
	}
	got, found := readBytes(t, inOne.Bytes())
	want, _ := readBytes(t, cut.Bytes())
	if !found || got.problems.Count != 0 || !slices.Equal(got.allocations, want.allocations) || len(got.memories) != len(want.memories) {
		t.Errorf("%d looks, %q; want %d", len(got.memories), got.problems.First, len(want.memories))
	}
}

func TestAnEndlessPickleIsRefused(t *testing.T) {
	t.Parallel()
	for _, part := range []string{"]\x94", "}\x94", "(", "N"} {
		got, _ := readBytes(t, []byte("\x80\x04}\x94(\x8c\x08segments\x94"+strings.Repeat(part, 1<<17)))
		if got.problems.Count == 0 || !strings.Contains(got.problems.First[0], "more than") {
			t.Errorf("%q: %q", part, got.problems.First)
		}
	}
}

func heapNearTheEnd(tb testing.TB, events int) (most uint64) {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), "snapshot.pickle")
	file, err := os.Create(path)
	if err != nil {
		tb.Fatal(err)
	}
	if err := testbed.WriteMemorySnapshot(file, events); err != nil {
		tb.Fatal(err)
	}
	info, err := file.Stat()
	if err != nil || file.Close() != nil {
		tb.Fatal(err)
	}
	found, err := memorysnapshot.Tool().Find(path)
	if err != nil {
		tb.Fatal(err)
	}
	before := heap()
	source, err := found.Dumps[0].Open("a run", func(read int64) {
		if read > info.Size()*9/10 && most == 0 {
			most = heap() - before
		}
	})
	if err != nil {
		tb.Fatal(err)
	}
	if got := rowsOf(tb, source); got.problems.Count != 0 || len(got.memories) < 256 || len(got.memories) > 600 {
		tb.Errorf("%d looks, %q", len(got.memories), got.problems.First)
	}
	return most
}

func heap() uint64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}
