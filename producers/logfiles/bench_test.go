package logfiles_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/tensortap/tensortap/producers"
	"github.com/tensortap/tensortap/producers/logfiles"
	"github.com/tensortap/tensortap/schemas"
)

// BenchmarkLogs finds a log and parses its lines into rows: it is read twice.
func BenchmarkLogs(b *testing.B) {
	path, size := batches(b)
	b.SetBytes(size)
	for b.Loop() {
		rows := 0
		found, err := logfiles.Tool(time.UTC).Find(path)
		if err != nil {
			b.Fatal(err)
		}
		reader := found.Reader("r", producers.Rows{Log: func(*schemas.LogRow) { rows++ }, Metric: func(*schemas.MetricRow) { rows++ }})
		for i := range found.Dumps {
			if _, err := reader(b.Context(), i, nil); err != nil {
				b.Fatal(err)
			}
		}
		if rows == 0 {
			b.Fatal("no rows")
		}
	}
}

// BenchmarkMessages makes messages of them, as publish does.
func BenchmarkMessages(b *testing.B) {
	path, size := batches(b)
	b.SetBytes(size)
	for b.Loop() {
		read := 0
		found, err := logfiles.Tool(time.UTC).Find(path)
		if err != nil {
			b.Fatal(err)
		}
		for _, dump := range found.Dumps {
			source, err := dump.Open("r", nil)
			if err != nil {
				b.Fatal(err)
			}
			for _, err := range source.Content.Batches(b.Context()) {
				if err != nil {
					b.Fatal(err)
				}
				read++
			}
		}
		if read == 0 {
			b.Fatal("no messages")
		}
	}
}

// batches is a log of lines of batches and of text.
func batches(b *testing.B) (path string, size int64) {
	b.Helper()
	content, err := os.ReadFile("testdata/sglang_batches.txt")
	if err != nil {
		b.Fatal(err)
	}
	whole := strings.Repeat(string(content)+"INFO 01-02 03:04:05 [loggers.py:1] a line of text that says what goes on in this program\n", 20_000)
	return write(b, "x.log", whole), int64(len(whole))
}
