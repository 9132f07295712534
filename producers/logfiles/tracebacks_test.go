package logfiles_test

import (
	"strings"
	"testing"

	"github.com/tensortap/tensortap/schemas"
)

const crash = `[2026-01-02 03:04:05 TP1] Scheduler hit an exception: Traceback (most recent call last):
  File "a.py", line 1, in f
    g()
[2026-01-02 03:04:05 TP0] something else
ValueError: bad

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "b.py", line 2, in h
RuntimeError: worse
printed later
[rank2]: Traceback (most recent call last):
[rank2]:   File "c.py", line 3, in k
[rank3]: Traceback (most recent call last):
[rank2]: torch.OutOfMemoryError: CUDA out of memory
[rank3]:   File "d.py", line 3
Fatal Python error: Segmentation fault

Current thread 0x00007f (most recent call first):
  File "x.py", line 1 in f
`

func TestATracebackIsOneRow(t *testing.T) {
	t.Parallel()
	got := read(t, write(t, "x.log", crash))
	traces := map[uint32]schemas.LogRow{}
	for _, row := range got.lines {
		if row.Kind == "traceback" {
			traces[row.Rank] = row
		}
	}
	if x := traces[1]; !strings.Contains(x.Text, "Scheduler hit") || !strings.Contains(x.Exception, "ValueError: bad\nDuring handling") || !strings.HasSuffix(x.Exception, "RuntimeError: worse") {
		t.Errorf("%+v", x)
	}
	if x := traces[2]; x.Text != "torch.OutOfMemoryError: CUDA out of memory" || !strings.Contains(x.Exception, "c.py") || strings.Contains(x.Exception, "d.py") || x.Level != "error" {
		t.Errorf("%+v", x)
	}
	if x := traces[3]; !strings.Contains(x.Exception, "d.py") {
		t.Errorf("%+v", x)
	}
	if x := traces[schemas.NoRank]; !strings.Contains(x.Text, "Segmentation fault") || !strings.Contains(x.Exception, "x.py") {
		t.Errorf("%+v", x)
	}
	if plain := got.of(t, "printed later"); plain.Kind != "" {
		t.Errorf("%+v", plain)
	}
}

// What lines of other ranks stand within is kept while they are read.
func TestATracebackStaysWhatItWasOverManyLines(t *testing.T) {
	t.Parallel()
	others := strings.Repeat("[rank1]:(Other pid=9, ip=10.0.0.9) WARNING:another:something else is said\n", 5_000)
	got := read(t, write(t, "x.log", "[rank0]:(Actor pid=8, ip=10.0.0.8) ERROR:mine:it failed: Traceback (most recent call last):\n"+others+
		"[rank0]:(Actor pid=8, ip=10.0.0.8)   File \"a.py\", line 1, in f\n"+others+"[rank0]:(Actor pid=8, ip=10.0.0.8) ValueError: bad\n"+others))
	row := got.of(t, "it failed")
	if row.Kind != "traceback" || row.Role != "Actor" || row.Host != "10.0.0.8" || row.Logger != "mine" || !strings.HasSuffix(row.Exception, "line 1, in f\nValueError: bad") {
		t.Errorf("got %+v", row)
	}
	untitled := read(t, write(t, "y.log", "[rank0]: Traceback (most recent call last):\n"+others+"[rank0]: ValueError: bad\n"+others))
	if row := untitled.of(t, "ValueError"); row.Text != "ValueError: bad" {
		t.Errorf("got %+v", row)
	}
}

func TestWhatFaulthandlerAndPySpySayIsOneRowEach(t *testing.T) {
	t.Parallel()
	fatal := read(t, "testdata/faulthandler.log")
	if len(fatal.lines) != 1 {
		t.Fatalf("%d rows of what faulthandler wrote: got %+v", len(fatal.lines), fatal.lines)
	}
	if x := fatal.lines[0]; x.Text != "Fatal Python error: Segmentation fault" || x.Kind != "traceback" || x.Level != "error" || !strings.HasSuffix(x.Exception, "line 9 in <module>") {
		t.Errorf("got %+v", x)
	}
	spied := read(t, "testdata/py_spy.log")
	var dumps, others []schemas.LogRow
	for _, row := range spied.lines {
		if row.Kind == "py-spy dump" {
			dumps = append(dumps, row)
		} else {
			others = append(others, row)
		}
	}
	if len(dumps) != 2 || len(others) != 3 {
		t.Fatalf("got %d dumps and %d other lines: %+v", len(dumps), len(others), spied.lines)
	}
	if x := dumps[0]; x.Rank != 1 || *x.PID != 22253 || x.EventTimeNs != ns("2026-01-02 03:04:05") || !strings.Contains(x.Exception, "hangs (spied.py:6)") || !strings.HasSuffix(strings.TrimSpace(x.Exception), "0x7f8d8c7278ec (libc.so.6)") {
		t.Errorf("SGLang's watchdog: got %+v", x)
	}
	if x := dumps[1]; *x.PID != 22254 || x.Level != "" || !strings.HasPrefix(x.Text, "Python v3.11.7") || !strings.Contains(x.Exception, "            n: [1, 2]\n") {
		t.Errorf("by itself: got %+v", x)
	}
	if others[0].Kind != "watchdog timeout" || others[2].Text != "done" {
		t.Errorf("other lines: got %+v", others)
	}
}
