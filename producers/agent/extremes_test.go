package agent_test

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/tensortap/tensortap/internal/dev/testbed"
	"github.com/tensortap/tensortap/schemas"
)

func TestHostileFoldersDoNotStopTheOthers(t *testing.T) {
	t.Parallel()
	root, l := t.TempDir(), newLog(t)
	for name, content := range map[string]string{"1-0000000000000001": "", "2-0000000000000002": "TAPSPOOL", "not a spool": "x"} {
		dir := filepath.Join(root, name)
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "header"), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("/", filepath.Join(root, "3-0000000000000003")); err != nil {
		t.Fatal(err)
	}
	long := testbed.NewSpool(t, root, testbed.SpoolOptions{Run: strings.Repeat("x", 201), Epoch: 4})
	later := testbed.NewSpool(t, root, testbed.SpoolOptions{Run: "later", Epoch: 5})
	later.Head.Version = 99
	later.WriteHead()
	strange := "Module.\x1f\u202e..\"'; DROP TABLE op; --\U0001F600.Linear.forward.0"
	s := testbed.NewSpool(t, root, testbed.SpoolOptions{Run: "bad\x1f/../\"; ☃", Epoch: 7})
	s.Begin(0)
	s.Tensor(strange, "input", "../..", s.Call(strange, "", 0, 0), 1)
	s.End(0, 0)
	s.Close()
	var told atomic.Int64
	cfg := config(t, root, l)
	cfg.Tell = func(text string) {
		if strings.Contains(text, "cannot serve") {
			told.Add(1)
		}
		t.Log(text)
	}
	serveUntil(t, cfg, func() bool {
		_, err := os.Stat(s.Dir)
		return os.IsNotExist(err) && told.Load() >= 3
	})
	if tensors := rows[schemas.TensorRow](l); len(tensors) != 1 {
		t.Errorf("%d tensors, want one", len(tensors))
	}
	if ops := rows[schemas.OpRow](l); len(ops) != 1 || ops[0].Name != strange {
		t.Errorf("ops %+v", ops)
	}
	for _, kept := range []*testbed.Spool{long, later} {
		if _, err := os.Stat(kept.Dir); err != nil {
			t.Error(err)
		}
	}
}

func TestTwoAgentsShareARootWithoutServingAProcessTwice(t *testing.T) {
	t.Parallel()
	root, l := t.TempDir(), newLog(t)
	for rank := range uint32(4) {
		s := testbed.NewSpool(t, root, testbed.SpoolOptions{Run: "bad", Rank: rank, Epoch: uint64(rank) + 1})
		for step := range uint32(20) {
			s.Step(step, 10)
		}
		s.Close()
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		serveUntil(t, config(t, root, l), empty(t, root))
	}()
	serveUntil(t, config(t, root, l), empty(t, root))
	<-done
	onceEach(t, l, 4, 20, 20)
	if l.repeated > 0 {
		t.Errorf("%d messages came twice", l.repeated)
	}
}

func TestLiteralsAndExtensionsBecomeStatistics(t *testing.T) {
	t.Parallel()
	root, l := t.TempDir(), newLog(t)
	s := testbed.NewSpool(t, root, testbed.SpoolOptions{Run: "bad", Epoch: 1})
	s.Begin(0)
	seq := s.Call("Torch.a.0.forward", "", 0, 0)
	op := s.Op("Torch.a.0.forward")
	for i, literal := range []map[string]any{
		{"kind": "int", "literal": "12345678901"}, {"kind": "float", "literal": "nan"}, {"kind": "bool", "literal": "True"}, {"kind": "str", "literal": "12"},
	} {
		s.Put(schemas.SpoolTensorKind, &schemas.SpoolTensor{Site: s.Site(op, "input", fmt.Sprint(i)), Layout: s.Define("layout", literal), Seq: seq, Flags: schemas.SpoolLiteral})
	}
	first := s.Reserve(5)
	s.Commit(first+1, schemas.SpoolCountsKind, &schemas.SpoolCounts{NaNCount: 1, PositiveInfinityCount: 1, SubnormalCount: 1, ValueMin: -1e300, ValueMax: 3})
	s.Commit(first+2, schemas.SpoolSketchKind, &schemas.SpoolSketch{Buckets: [8]float32{1, 2, 3, 4, 5, 6, 7, 8}})
	s.Commit(first+3, schemas.SpoolSketchKind, &schemas.SpoolSketch{Buckets: [8]float32{9, 10, 11, 12, 13, 14, 15, 16}, First: 8})
	s.Commit(first+4, schemas.SpoolDigestKind, &schemas.SpoolDigest{Digest: 42, DigestKind: 3})
	s.Commit(first, schemas.SpoolTensorKind, &schemas.SpoolTensor{
		Site: s.Site(op, "output", "0"), Layout: s.Layout(2, 2), Seq: seq, Extra: 4,
		Flags: testbed.MeasuredAll | schemas.SpoolReused, ValueMin: -3e38, ValueMax: 3, ValueMean: 2, ValueM2: 1, ZeroCount: 1,
	})
	s.Tensor("Torch.a.0.forward", "output", "1", seq, 1)
	s.End(0, 0)
	s.Close()
	serveUntil(t, config(t, root, l), empty(t, root))
	tensors := rows[schemas.TensorRow](l)
	if len(tensors) != 6 {
		t.Fatalf("%d tensors, want 6", len(tensors))
	}
	const number = schemas.MeasuredMin | schemas.MeasuredMax | schemas.MeasuredMean
	for i, want := range []uint32{number, number, 0, 0, testbed.MeasuredAll, testbed.MeasuredAll} {
		if tensors[i].Measured != want {
			t.Errorf("tensor %d has measured %b, want %b", i, tensors[i].Measured, want)
		}
	}
	if a := tensors[0]; a.ValueMin != 12345678901 || a.ValueMean != 12345678901 || a.ElementCount != 0 {
		t.Errorf("the integer is %+v", a)
	}
	if a := tensors[1]; !math.IsNaN(a.ValueMax) {
		t.Errorf("NaN is %+v", a)
	}
	if a := tensors[4]; a.NaNCount != 1 || a.ValueMin != -1e300 || a.ValueMax != 3 || a.ValueL2 != 3 || len(a.Sketch) != 16 || a.Sketch[15] != 16 || a.Digest != 42 || a.DigestKind != 3 {
		t.Errorf("the tensor with extensions is %+v", a)
	}
	if a := tensors[5]; len(a.Sketch) != 0 || a.NaNCount != 0 || a.DigestKind != 0 {
		t.Errorf("the tensor after it has its values: %+v", a)
	}
}
