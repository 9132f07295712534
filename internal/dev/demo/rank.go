package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"strconv"
	"time"

	"github.com/tensortap/tensortap/internal/dev/testbed"
	"github.com/tensortap/tensortap/schemas"
)

const (
	root      = "Module.model.Model.forward.0"
	reduce    = "Distributed.all_reduce.0.forward"
	device    = "cuda:0"
	allocated = 1 << 30
)

// rank is one process of a run.
type rank struct {
	*testbed.Spool

	number  uint32
	run     string
	bad     bool
	dead    bool
	journal bytes.Buffer // lines of its records of logging
}

// step is a whole step: forward pass, collective with the other ranks, memory.
func (r *rank) step(step uint32) {
	began := r.Clock
	r.Begin(step)
	r.serve(step)
	r.forward(step, layers)
	r.Clock = began + int64(r.ownTime(step))
	r.gather(step, began+int64(r.slowest(step)+usual/20))
	r.measureMemory(step)
	r.tell(step)
	r.End(step, r.dropped(step))
	r.Clock = began + int64(stepTime)
}

// lastStep ends the run: well, or as faults say.
func (r *rank) lastStep(step uint32) {
	if !r.bad {
		r.step(step)
		r.Close()
		return
	}
	r.Begin(step)
	if r.number == crashedRank {
		r.crash(step)
		return
	}
	r.forward(step, layers)
	r.hang(step)
}

// linear is the op of a layer.
func linear(layer int) string { return fmt.Sprintf("Module.layers.%d.Linear.forward.0", layer) }

// forward is the pass through so many layers, each of which gets what the one before it gives.
func (r *rank) forward(step uint32, through int) {
	top := r.Call(root, "", schemas.SpoolOpOpens, 0)
	x := 1 + float64(step)/16 + float64(r.number)/8
	for layer := range through {
		op := linear(layer)
		seq := r.Call(op, root, schemas.SpoolOpOpens, 0)
		r.argument(op, "input", "0", seq, x)
		r.argument(op, "parameter", "weight", seq, 0.75)
		x = x*0.75 + float64(layer)/8 + r.fault(step, layer)
		r.Call(op, root, schemas.SpoolOpEnds, seq)
		r.argument(op, "output", "0", seq, x)
	}
	if through == layers {
		r.Call(root, "", schemas.SpoolOpEnds, top)
	}
}

// argument is a tensor of four elements around the value, or of two beside two that are not a number.
func (r *rank) argument(op, role, path string, seq uint32, value float64) {
	if !math.IsNaN(value) {
		r.Tensor(op, role, path, seq, float32(value))
		return
	}
	at := r.Reserve(2) // both in one segment
	r.Commit(at+1, schemas.SpoolCountsKind, &schemas.SpoolCounts{NaNCount: 2, ValueMin: -1, ValueMax: 1})
	r.Commit(at, schemas.SpoolTensorKind, &schemas.SpoolTensor{
		Site: r.Site(r.Op(op), role, path), Layout: r.Layout(2, 2), Seq: seq, Flags: testbed.MeasuredAll,
		ValueMin: -1, ValueMax: 1, ValueM2: 2, ValueL1: 2, Extra: 1,
	})
}

// gather is the collective at the end of a step, which is done once the slowest rank has come.
func (r *rank) gather(step uint32, done int64) {
	called := r.Clock
	r.collective(step, schemas.SpoolCalled, called, called)
	r.collective(step, schemas.SpoolCompleted, called, done)
	r.Clock = done
}

func (r *rank) collective(step, state uint32, called, now int64) {
	group := r.Define("group", map[string]any{"description": "world", "ranks": []int{0, 1, 2, 3}, "before": 0})
	r.Put(schemas.SpoolCollectiveKind, &schemas.SpoolCollective{
		Group: group, Name: r.Text("all_reduce"), TimeNs: now, CalledNs: called, Number: uint64(step) + 1, Inputs: r.Text("float32[4]"), State: state,
	})
}

func (r *rank) measureMemory(step uint32) {
	bytes := allocated + r.leaked(step)
	r.Put(schemas.SpoolMemoryKind, &schemas.SpoolMemory{
		Device: r.Text(device), TimeNs: r.Clock, AllocatedBytes: bytes, ReservedBytes: bytes, PeakBytes: bytes, DeviceFreeBytes: 4 * allocated, HostResidentBytes: 2 * allocated,
	})
	r.Put(schemas.SpoolComponentKind, &schemas.SpoolComponent{
		Component: r.Text("weights"), Basis: r.Text("parameters"), Device: r.Text(device), TimeNs: r.Clock, AllocatedBytes: allocated/2 + 1,
	})
}

// tell writes what the rank says of the step: a line, and its loss.
func (r *rank) tell(step uint32) {
	level, text := r.line(step)
	r.record(map[string]any{"t": r.Clock, "s": step, "l": level, "n": "train", "m": text, "f": "train.py", "i": 31})
	if r.number == 0 {
		loss := 3 - float64(step)/64
		r.record(map[string]any{"t": r.Clock, "s": step, "k": "note", "v": map[string]string{"loss": strconv.FormatFloat(loss, 'g', -1, 64)}})
	}
}

// record is a line of the journal, whose first one says whose it is.
func (r *rank) record(fields map[string]any) {
	if r.journal.Len() == 0 {
		r.sign()
	}
	text, _ := json.Marshal(fields) //nolint:errchkjson // texts and numbers
	_, _ = r.journal.Write(append(text, '\n'))
}

func (r *rank) sign() {
	head, _ := json.Marshal(map[string]any{"run": r.run, "rank": r.number, "host": "here", "pid": os.Getpid(), "dropped": 0, "time_ns": r.Clock}) //nolint:errchkjson // texts and numbers
	_, _ = r.journal.Write(append(head, '\n'))
}

// writeJournal puts the records beside the spool, where the agent finds them.
func (r *rank) writeJournal() error {
	return os.WriteFile(r.Dir+".0.logging", r.journal.Bytes(), 0o600)
}

// beat is a sign of life.
func (r *rank) beat(now time.Time) {
	if !r.dead {
		r.Head.HeartbeatNs = now.UnixNano()
		r.WriteHead()
	}
}
