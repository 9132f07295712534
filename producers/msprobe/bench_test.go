package msprobe

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// bigDump writes a dump of the recorded one's ops, repeated under new names until dump.json has that many bytes.
func bigDump(tb testing.TB, size int) Dump {
	tb.Helper()
	recorded, err := os.ReadFile(filepath.Join(unpack(tb, "D_tp_golden"), "D_tp_golden/dump/step0/rank0", dumpFile))
	if err != nil {
		tb.Fatal(err)
	}
	dir := tb.TempDir()
	file, err := os.Create(filepath.Join(dir, dumpFile))
	if err != nil {
		tb.Fatal(err)
	}
	defer file.Close() //nolint:errcheck // checked by its reader
	head, ops, _ := bytes.Cut(recorded, []byte("\"data\": {\n"))
	ops = bytes.TrimRight(ops, " \n}")
	written := 0
	write := func(text []byte) {
		n, err := file.Write(text)
		if err != nil {
			tb.Fatal(err)
		}
		written += n
	}
	write(head)
	write([]byte("\"data\": {\n"))
	for copies := 0; written < size; copies++ {
		if copies > 0 {
			write([]byte("\n  },\n"))
		}
		renamed := ops
		for _, phase := range []string{".forward", ".backward", ".parameters_grad"} {
			renamed = bytes.ReplaceAll(renamed, []byte(phase), fmt.Appendf(nil, "%05d%s", copies, phase))
		}
		write(renamed)
	}
	write([]byte("\n  }\n }\n}"))
	return Dump{Dir: dir}
}

func BenchmarkScanner(b *testing.B) {
	dump := bigDump(b, 16<<20)
	text, err := os.ReadFile(filepath.Join(dump.Dir, dumpFile))
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		scan := newScanner(bytes.NewReader(text))
		t, err := scan.next()
		for ; err == nil && t != tokenEnd; t, err = scan.next() {
		}
		if err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkSource(b *testing.B) {
	dump := bigDump(b, 28<<20)
	b.SetBytes(28 << 20)
	b.ReportAllocs()
	for b.Loop() {
		readTo(b, dump)
	}
}

// readTo reads a dump and returns the number of messages and their bytes.
func readTo(tb testing.TB, dump Dump) (messages, size int) {
	tb.Helper()
	source, err := Open(dump, DefaultOptions("a run"))
	if err != nil {
		tb.Fatal(err)
	}
	for m, err := range source.Batches(tb.Context()) {
		if err != nil {
			tb.Fatal(err)
		}
		messages++
		size += len(m.Data)
	}
	if p := source.Problems(); p.Count > 0 {
		tb.Fatalf("%d problems, the first: %s", p.Count, p.First[0])
	}
	return messages, size
}

func BenchmarkFolder(b *testing.B) {
	dir := os.Getenv("TENSORTAP_BENCH_DUMP")
	if dir == "" {
		b.Skip("TENSORTAP_BENCH_DUMP names no dump")
	}
	b.ReportAllocs()
	for b.Loop() {
		messages, size := readTo(b, Dump{Dir: dir})
		b.ReportMetric(float64(messages), "messages")
		b.ReportMetric(float64(size), "published_bytes")
	}
}
