package msprobe

import (
	"bytes"
	"os"
	"testing"
	"testing/iotest"

	"github.com/tensortap/tensortap/schemas"
)

func FuzzScannerNeitherPanicsNorLoops(f *testing.F) {
	kinds, err := os.ReadFile("testdata/kinds/step3/proc4711/dump.json")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(kinds)
	f.Add([]byte(`[NaN, -Infinity, "\ud83d\ude00", 1e5, {"a": []}]`))
	f.Fuzz(func(t *testing.T, text []byte) {
		if got, want := tokens(iotest.HalfReader(bytes.NewReader(text))), tokens(bytes.NewReader(text)); got != want {
			t.Errorf("tokens depend on how the text arrives: %q, want %q", got, want)
		}
	})
}

func FuzzReaderNeitherPanicsNorLoops(f *testing.F) {
	for _, name := range []string{dumpFile, stackFile, constructFile, debugFile, errorLogFile} {
		text, err := os.ReadFile("testdata/kinds/step3/proc4711/" + name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Add([]byte(indented))
	f.Add([]byte(compactText))
	f.Fuzz(func(t *testing.T, text []byte) {
		dump := dumpOf(t, string(text))
		for _, name := range []string{stackFile, constructFile, debugFile, errorLogFile} {
			write(t, dump.Dir, name, string(text))
		}
		all := readAll(t, dump, 3)
		if s := all.steps[0]; s.TensorCount != uint64(len(all.tensors)) || s.OpCount > uint64(len(all.ops)) {
			t.Errorf("step %+v counts %d rows of tensor, %d of op", s, len(all.tensors), len(all.ops))
		}
		references(t, all)
		contiguous(t, all)
	})
}

// contiguous checks that the batches of each kind are counted from 0 without gaps.
func contiguous(tb testing.TB, all rows) {
	tb.Helper()
	next := make(map[string]uint64)
	for _, m := range all.messages {
		if m.Header.Identity.Batch != next[m.Header.Kind] {
			tb.Errorf("message %s, want batch %d", m.ID(), next[m.Header.Kind])
		}
		next[m.Header.Kind]++
		if _, err := schemas.ParseMessage(m.Subject(), m.NATSHeader(), m.Data, 1); err != nil {
			tb.Errorf("message %s: %v", m.ID(), err)
		}
	}
}
