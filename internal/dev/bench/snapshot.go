package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"github.com/tensortap/tensortap/internal/dev/testbed"
	"github.com/tensortap/tensortap/producers"
	"github.com/tensortap/tensortap/producers/memorysnapshot"
)

const (
	megabyte              = 1e6
	snapshotHeapMark      = 64.0 // MB
	eventsToTellTheirSize = 100_000
	eachSample            = 256 // of the calls that tell how far the reading is
)

// measureSnapshot reads a large snapshot of PyTorch's allocator, beside the mere reading of its bytes.
func measureSnapshot(ctx context.Context, e *env) (section, error) {
	var s section
	path, size, err := e.largeSnapshot(float64(e.pick(500, 20)) * megabyte)
	if err != nil {
		return s, err
	}
	var speed, hashed, heap rounds
	for range e.rounds {
		read, err := readSnapshot(ctx, path)
		if err != nil {
			return s, err
		}
		speed, hashed, heap = append(speed, size/megabyte/read.took), append(hashed, size/megabyte/read.hashing), append(heap, read.heap)
		e.say("snapshot read in %s, with %s", seconds(read.took), megabytes(read.heap))
	}
	s.add(speed.atLeast(fmt.Sprintf("a snapshot of %s read into rows, MB a second", megabytes(size)), 0, whole))
	s.add(hashed.atLeast("its bytes hashed, MB a second", 0, whole))
	s.add(heap.atMost("most memory in use by its reader", snapshotHeapMark*megabyte, megabytes))
	s.note("The snapshot is constructed, as Python pickles it: 500 stacks of 20 frames, 4,000 blocks in use at a time. The bound is by what differs and by what is in use: some 150 bytes a block, 30 bytes a frame of each different stack, a look at memory for each of at most 512 moments; not by the number of events.")
	return s, nil
}

// largeSnapshot writes a file of about so many bytes.
func (e *env) largeSnapshot(bytes float64) (path string, size float64, err error) {
	path = filepath.Join(e.folder, "snapshot.pickle")
	if size, err = writeSnapshot(path, eventsToTellTheirSize); err == nil {
		size, err = writeSnapshot(path, int(bytes/size*eventsToTellTheirSize))
	}
	return path, size, err
}

func writeSnapshot(path string, events int) (float64, error) {
	file, err := os.Create(path) //nolint:gosec // below the scratch folder
	if err != nil {
		return 0, err
	}
	err = errors.Join(testbed.WriteMemorySnapshot(file, events), file.Close())
	info, statErr := os.Stat(path)
	if err = errors.Join(err, statErr); err != nil {
		return 0, err
	}
	return float64(info.Size()), nil
}

// snapshotReading is what one reading took.
type snapshotReading struct{ took, hashing, heap float64 }

func readSnapshot(ctx context.Context, path string) (r snapshotReading, err error) {
	found, err := memorysnapshot.Tool().Find(path)
	if err != nil {
		return r, err
	}
	runtime.GC()
	before, calls := heapInUse(), 0
	progress := func(int64) {
		if calls++; calls%eachSample == 0 {
			r.heap = max(r.heap, heapInUse()-before)
		}
	}
	var source producers.Source
	r.hashing, err = elapsed(func() error {
		source, err = found.Dumps[0].Open("a run", progress)
		return err
	})
	if err != nil {
		return r, err
	}
	r.took, err = elapsed(func() error {
		for _, err := range source.Content.Batches(ctx) {
			if err != nil {
				return err
			}
		}
		return nil
	})
	if problems := source.Problems(); problems.Count > 0 {
		err = errors.Join(err, fmt.Errorf("problems in a snapshot that has none: %q", problems.First))
	}
	return r, err
}

func heapInUse() float64 {
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return float64(stats.HeapAlloc)
}
