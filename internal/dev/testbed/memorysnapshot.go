package testbed

import (
	"bufio"
	"encoding/binary"
	"io"
)

// WriteMemorySnapshot writes a snapshot of PyTorch's allocator, as Python pickles it, of a trace of that many events:
// allocations by 500 stacks of 20 frames, each freed after 4,000 others.
// It is constructed: no GPU is used.
func WriteMemorySnapshot(to io.Writer, events int) error {
	return WriteSnapshotInBatches(to, events, 1000)
}

// WriteSnapshotInBatches is WriteMemorySnapshot with that many events at a time. Python's pickler takes 1,000, PyTorch's
// own all.
func WriteSnapshotInBatches(to io.Writer, events, batch int) error {
	events -= events % 2 // each free with its allocation
	w := &snapshotWriter{to: bufio.NewWriterSize(to, 1<<16), texts: map[string]uint32{}}
	w.ops("\x80\x04}\x94(")
	w.count++
	w.text("segments")
	w.list()
	w.dict(func() { w.segment(min(events/2, liveAtATime)) })
	w.ops("a")
	w.text("device_traces")
	w.list()
	w.list()
	w.trace(events, batch)
	w.ops("au.")
	return w.to.Flush()
}

const (
	liveAtATime    = 4000
	snapshotStacks = 500
	blockBytes     = 1024
	firstAddress   = 0x7f0000000000
)

// snapshotWriter remembers what it wrote, as Python's pickler does.
type snapshotWriter struct {
	to     *bufio.Writer
	texts  map[string]uint32
	stacks [snapshotStacks]uint32 // where each is remembered, 0 for not yet
	count  uint32
}

func (w *snapshotWriter) ops(codes string) { _, _ = w.to.WriteString(codes) } // the error stays until Flush

func (w *snapshotWriter) memoized(codes string) uint32 {
	w.ops(codes + "\x94")
	w.count++
	return w.count - 1
}

func (w *snapshotWriter) list() uint32 { return w.memoized("]") }

func (w *snapshotWriter) dict(fill func()) {
	w.memoized("}")
	w.ops("(")
	fill()
	w.ops("u")
}

func (w *snapshotWriter) get(at uint32) {
	_, _ = w.to.Write(binary.LittleEndian.AppendUint32([]byte{'j'}, at))
}

func (w *snapshotWriter) text(text string) {
	if at, known := w.texts[text]; known {
		w.get(at)
		return
	}
	w.texts[text] = w.memoized("\x8c" + string([]byte{byte(len(text))}) + text)
}

func (w *snapshotWriter) number(name string, n uint64) {
	w.text(name)
	_, _ = w.to.Write(binary.LittleEndian.AppendUint64([]byte{0x8a, 8}, n))
}

func (w *snapshotWriter) segment(blocks int) {
	w.number("device", 0)
	w.number("address", firstAddress)
	w.number("total_size", uint64(blocks)*blockBytes) //nolint:gosec // not negative
	w.text("blocks")
	w.list()
	w.ops("(")
	for i := range blocks {
		w.dict(func() {
			w.number("address", address(i))
			w.number("size", blockBytes)
			w.number("requested_size", blockBytes-24)
			w.text("state")
			w.text("active_allocated")
			w.stack(i)
		})
	}
	w.ops("e")
}

// address is where the allocation of that number lies. What is live lies in as many places.
func address(i int) uint64 {
	return firstAddress + uint64(i%liveAtATime)*blockBytes //nolint:gosec // not negative
}

func (w *snapshotWriter) stack(i int) {
	w.text("frames")
	if at := w.stacks[i%snapshotStacks]; at != 0 {
		w.get(at)
		return
	}
	w.stacks[i%snapshotStacks] = w.list()
	w.ops("(")
	for depth := range 20 {
		w.dict(func() {
			w.text("filename")
			w.text("/opt/model/part.py")
			w.number("line", uint64(i*20+depth)) //nolint:gosec // not negative
			w.text("name")
			w.text("forward")
		})
	}
	w.ops("e")
}

// trace has the events of the ring: before its first one, as many were live as there are at its end.
func (w *snapshotWriter) trace(events, batch int) {
	for i := range events {
		if i%batch == 0 {
			w.ops("(")
		}
		w.dict(func() { w.event(i) })
		if i%batch == batch-1 || i == events-1 {
			w.ops("e")
		}
	}
}

func (w *snapshotWriter) event(i int) {
	w.text("action")
	w.text([]string{"free_completed", "alloc"}[i%2])
	w.number("addr", address(i/2))
	w.number("size", blockBytes-24)
	w.number("stream", 0)
	w.number("time_us", 1767323045000000+uint64(i)) //nolint:gosec // not negative
	w.stack(i / 2)
}
