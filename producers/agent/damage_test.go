package agent_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tensortap/tensortap/internal/dev/testbed"
	"github.com/tensortap/tensortap/producers/agent"
	"github.com/tensortap/tensortap/schemas"
)

const damagedTensors = 60

// extended writes a step of tensors with extensions, and returns where each of them begins.
func extended(s *testbed.Spool) (at []uint64) {
	s.Begin(3)
	const op = "Module.a.A.forward.0"
	site, layout := s.Site(s.Op(op), "output", "0"), s.Layout(2, 2)
	for i := range damagedTensors {
		seq := s.Call(op, "", 0, 0)
		first := s.Reserve(4)
		s.Commit(first+1, schemas.SpoolCountsKind, &schemas.SpoolCounts{NaNCount: 1, ValueMin: float64(i), ValueMax: float64(i) + 1})
		s.Commit(first+2, schemas.SpoolSketchKind, &schemas.SpoolSketch{Buckets: [8]float32{float32(i), 1}})
		s.Commit(first+3, schemas.SpoolDigestKind, &schemas.SpoolDigest{Digest: uint64(i) + 1, DigestKind: uint32(schemas.DigestTap)})
		s.Commit(first, schemas.SpoolTensorKind, &schemas.SpoolTensor{
			Site: site, Layout: layout, Seq: seq, Flags: testbed.MeasuredAll, ValueMean: float64(i), ValueM2: 2, ValueL1: 4, Extra: 3,
		})
		at = append(at, first)
	}
	s.Put(schemas.SpoolStepKind, &schemas.SpoolStep{Step: 3, Event: schemas.SpoolStepEnds, TensorCount: damagedTensors})
	return at
}

// flip changes one bit of a record.
func flip(tb testing.TB, s *testbed.Spool, position uint64, bit int) {
	tb.Helper()
	file, err := os.OpenFile(filepath.Join(s.Dir, "rows-00000000"), os.O_RDWR, 0)
	if err != nil {
		tb.Fatal(err)
	}
	defer file.Close() //nolint:errcheck // the write is checked
	at, one := int64(position*schemas.SpoolRecordBytes)+int64(bit/8), make([]byte, 1)
	if _, err := file.ReadAt(one, at); err != nil {
		tb.Fatal(err)
	}
	one[0] ^= 1 << (bit % 8)
	if _, err := file.WriteAt(one, at); err != nil {
		tb.Fatal(err)
	}
}

// readings are all tensors that came through, as text by their place.
func readings(l *log) map[uint64]string {
	found := map[uint64]string{}
	for _, row := range rows[schemas.TensorRow](l) {
		row.Batch, row.EventTimeNs = 0, 0
		found[row.Seq] = fmt.Sprintf("%+v", row)
	}
	return found
}

func TestFlippedBitsCostTheirRecordsAndNothingElse(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // the same each time
	var whole map[uint64]string
	for round := range 8 {
		root, l := t.TempDir(), newLog(t)
		s := testbed.NewSpool(t, root, testbed.SpoolOptions{Run: "bad", Epoch: 1})
		lost := map[uint64]bool{}
		at := extended(s)
		for i := range 20 * min(round, 1) {
			tensor := at[3*i+random.IntN(3)]
			lost[tensor] = true
			flip(t, s, tensor+random.Uint64N(4), random.IntN(8*schemas.SpoolRecordBytes))
		}
		s.Close()
		a := agent.New(config(t, root, l))
		runUntil(t, a, empty(t, root))
		got := readings(l)
		if round == 0 {
			whole = got
		}
		want := maps.Clone(whole)
		maps.DeleteFunc(want, func(place uint64, _ string) bool { return lost[place] })
		if len(whole) != damagedTensors || !maps.Equal(got, want) {
			t.Fatalf("round %d: %d tensors of %d, want %d as they were", round, len(got), len(whole), len(want))
		}
		step := rows[schemas.StepRow](l)[0]
		if n := uint64(len(lost)); step.TensorCount != damagedTensors-n || step.DroppedCount != n || strings.Contains(step.DropReason, "checksum") != (n > 0) {
			t.Errorf("round %d: %d tensors, %d lost: %q; want %d lost", round, step.TensorCount, step.DroppedCount, step.DropReason, n)
		}
		if counted := a.Counts().Damaged.Load(); (counted > 0) != (len(lost) > 0) {
			t.Errorf("round %d: %d damaged records counted, %d tensors lost", round, counted, len(lost))
		}
	}
}

func TestASpoolOfAnEarlierLayoutIsRead(t *testing.T) {
	t.Parallel()
	for version := uint32(schemas.SpoolUncheckedVersion); version <= schemas.SpoolVersion; version++ {
		root, l := t.TempDir(), newLog(t)
		s := testbed.NewSpool(t, root, testbed.SpoolOptions{Run: "bad", Epoch: 1})
		s.Head.Version = version
		s.WriteHead()
		extended(s)
		s.Close()
		serveUntil(t, config(t, root, l), empty(t, root))
		if got := readings(l); len(got) != damagedTensors {
			t.Errorf("layout %d: %d tensors, want %d", version, len(got), damagedTensors)
		}
	}
}
