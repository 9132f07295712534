package producertest

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/tensortap/tensortap/producers"
)

const (
	manyBytes  = 96 << 20 // of a file whose memory is watched
	mostMemory = 64 << 20 // bytes beyond what there was before
	tooLong    = 9 << 20  // bytes of a line that no reader takes whole
)

// ExerciseLines tests also what is promised of files of lines.
func ExerciseLines(t *testing.T, tool producers.Tool, path string) {
	t.Helper()
	Exercise(t, tool, path)
	t.Run("half a last line", func(t *testing.T) { trial{t, tool, path}.keepsOthers(cutLast) })
	t.Run("a line too long", func(t *testing.T) { trial{t, tool, path}.keepsOthers(addLong) })
}

func cutLast(content []byte) []byte {
	content = bytes.TrimRight(content, "\n")
	last := bytes.LastIndexByte(content, '\n') + 1
	return content[:last+(len(content)-last)/2]
}

func addLong(content []byte) []byte {
	return append([]byte(strings.Repeat("x", tooLong)+"\n"), content...)
}

// keepsOthers: a line that is damaged costs no other; the loss is told, or the line is a row.
func (t trial) keepsOthers(change func([]byte) []byte) {
	whole := t.mustRead(t.path)
	path := t.copied()
	file := t.files(path)[0]
	content, err := os.ReadFile(file) //nolint:gosec // of this test
	if err != nil {
		t.Fatal(err)
	}
	t.write(file, change(content))
	messages, problems, err := t.read(path)
	if err != nil {
		t.Fatal(err)
	}
	rows := func() (n int) {
		for _, m := range messages {
			n += m.Header.Rows
		}
		return n
	}()
	want := 0
	for _, m := range whole {
		want += m.Header.Rows
	}
	if problems.Count == 0 && rows < want-mostOfALine {
		t.Errorf("%d rows of %d, and no problem is told", rows, want)
	}
}

// mostOfALine is how many rows half a last line may cost without a word: where any text is a line, its numbers.
const mostOfALine = 20

// NeedsLittleMemory reads a file that has the lines of the good one many times. Its caller must not be parallel: what other
// tests take would count.
func NeedsLittleMemory(t *testing.T, tool producers.Tool, path string) {
	t.Helper()
	trial{t, tool, path}.needsLittleMemory()
}

func (t trial) needsLittleMemory() {
	path := t.copied()
	file := t.files(path)[0]
	content, err := os.ReadFile(file) //nolint:gosec // of this test
	if err != nil {
		t.Fatal(err)
	}
	if content = bytes.TrimRight(content, "\n"); !bytes.ContainsRune(content, '\n') {
		content = append(content, '\n')
	}
	content = append(content, '\n')
	t.write(file, bytes.Repeat(content, manyBytes/len(content)))
	before, most := heap(), uint64(0)
	found := t.mustFind(path)
	most = max(most, heap())
	source, err := found.Dumps[0].Open("r", nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range source.Content.Batches(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		most = max(most, heap())
	}
	if grown := int64(min(most, math.MaxInt64)) - int64(min(before, math.MaxInt64)); grown > mostMemory { //nolint:gosec // bounded
		t.Errorf("%s of %d bytes needs %d bytes of memory, want %d at most", filepath.Base(file), manyBytes, grown, mostMemory)
	}
}

// heap is what is in use.
func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
