package logs_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tensortap/tensortap/internal/dev/testbed"
	"github.com/tensortap/tensortap/internal/logs"
)

func launched(tb testing.TB) (run string, launch logs.Launch) {
	tb.Helper()
	run = filepath.Join(tb.TempDir(), "run")
	launch, err := logs.NewLaunch(run, time.Now())
	if err != nil {
		tb.Fatal(err)
	}
	return run, launch
}

// prints appends to the file of a process.
func prints(tb testing.TB, launch logs.Launch, name, text string) {
	tb.Helper()
	file, err := os.OpenFile(filepath.Join(string(launch), name), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err == nil {
		_, err = file.WriteString(text)
	}
	if err != nil {
		tb.Fatal(err)
	}
	if err := file.Close(); err != nil {
		tb.Fatal(err)
	}
}

func lines(tb testing.TB, run string) []string {
	tb.Helper()
	var all []string
	err := logs.Read(run, func(line logs.Line) error {
		all = append(all, fmt.Sprintf("%d %v %s", line.PID, line.Stderr, line.Text))
		return nil
	})
	if err != nil {
		tb.Fatal(err)
	}
	return all
}

func await(tb testing.TB, what string, done func() bool) {
	tb.Helper()
	for range 1000 {
		if done() {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	tb.Fatalf("waited in vain until %s", what)
}

func TestRoomIsWhatIsFreeOnTheDisk(t *testing.T) {
	t.Parallel()
	_, launch := launched(t)
	if !launch.HasRoom(1) || launch.HasRoom(1<<62) || logs.Launch("/no/such/folder").HasRoom(1) {
		t.Error("room for a byte, and none for 4 EiB or in no folder")
	}
}

func TestWhatProcessesPrintIsHandedOnAndKept(t *testing.T) {
	t.Parallel()
	run, launch := launched(t)
	var out, err testbed.Buffer
	forward := logs.Forwarder{Launch: launch, Out: &out, Err: &err, Now: time.Now}
	failed := forward.During(t.Context(), func() error {
		prints(t, launch, "7.out", "first\nsec")
		prints(t, launch, "8.err", "wrong\n")
		prints(t, launch, "9.out", "")
		await(t, "whole lines are there", func() bool { return strings.Contains(out.String(), "first\n") && err.String() == "wrong\n" })
		prints(t, launch, "7.out", "ond\n")
		await(t, "the next one is", func() bool { return out.String() == "first\nsecond\n" })
		prints(t, launch, "8.out", "prompt> ")
		await(t, "a line without an end is", func() bool { return strings.HasSuffix(out.String(), "prompt> ") })
		prints(t, launch, "8.out", "\nlast")
		return os.ErrClosed
	})
	if failed != os.ErrClosed { //nolint:errorlint // the very same
		t.Errorf("During returned %v, want what its job did", failed)
	}
	if got := out.String(); got != "first\nsecond\nprompt> \nlast" {
		t.Errorf("handed on %q", got)
	}
	got := lines(t, run)
	slices.Sort(got)
	if want := []string{"7 false first", "7 false second", "8 false last", "8 false prompt> ", "8 true wrong"}; !slices.Equal(got, want) {
		t.Errorf("kept %q, want %q", got, want)
	}
	if _, err := os.Stat(filepath.Join(string(launch), "9.out")); err == nil {
		t.Error("a file in which nothing is was kept")
	}
}

func TestEqualLinesOfOneInstantAreAllKept(t *testing.T) {
	t.Parallel()
	run, instant := filepath.Join(t.TempDir(), "run"), time.Unix(1<<32, 0)
	var out testbed.Buffer
	for _, process := range []string{"7", "8"} { // each in a launch of its own, of the same instant
		launch, err := logs.NewLaunch(run, instant)
		if err != nil {
			t.Fatal(err)
		}
		forward := logs.Forwarder{Launch: launch, Out: &out, Err: &out, Now: func() time.Time { return instant }}
		err = forward.During(t.Context(), func() error {
			prints(t, launch, process+".out", "same\nsame\n")
			prints(t, launch, process+".err", "same\n")
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	got := lines(t, run)
	slices.Sort(got)
	if want := []string{"7 false same", "7 false same", "7 true same", "8 false same", "8 false same", "8 true same"}; !slices.Equal(got, want) {
		t.Errorf("kept %q, want %q", got, want)
	}
}

func TestOfVeryMuchTheBeginningAndTheEndAreKept(t *testing.T) {
	t.Parallel()
	run, launch := launched(t)
	const each, lines = 1 << 20, 100
	text := strings.Repeat("x", each-1) + "\n"
	var out testbed.Buffer
	forward := logs.Forwarder{Launch: launch, Out: &out, Err: &out, Now: time.Now}
	err := forward.During(t.Context(), func() error {
		for range lines {
			prints(t, launch, "7.out", text)
		}
		await(t, "the middle is given up", func() bool { return stored(t, filepath.Join(string(launch), "7.out")) < 70<<20 })
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	kept, told := 0, 0
	err = logs.Read(run, func(line logs.Line) error {
		if strings.Contains(line.Text, "bytes were not kept") {
			told++
		}
		kept += len(line.Text) + 1
		return nil
	})
	if err != nil || told != 1 || kept < 63<<20 || kept > 70<<20 {
		t.Errorf("%d bytes kept, told %d times that some were not: %v", kept, told, err)
	}
}

// broken is an output on a disk that is full.
type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, unix.ENOSPC }

func TestWhatCannotBeHandedOnIsBoundedAllTheSame(t *testing.T) {
	t.Parallel()
	_, launch := launched(t)
	var said testbed.Buffer
	forward := logs.Forwarder{Launch: launch, Out: broken{}, Err: &said, Now: time.Now}
	text := strings.Repeat("x", 1<<20-1) + "\n"
	err := forward.During(t.Context(), func() error {
		for range 80 {
			prints(t, launch, "7.out", text)
		}
		time.Sleep(100 * time.Millisecond) // handing on has failed
		await(t, "the middle is given up", func() bool { return stored(t, filepath.Join(string(launch), "7.out")) < 70<<20 })
		return nil
	})
	if err != nil || !strings.Contains(said.String(), "no space left on device") {
		t.Errorf("%v, said %q", err, said.String())
	}
}

func TestNothingIsHandedOnOfWhatWasGivenUp(t *testing.T) {
	t.Parallel()
	_, launch := launched(t)
	line := strings.Repeat("x", 999) + "\n" // none ends where the beginning does
	prints(t, launch, "7.out", strings.Repeat(line, 100<<10))
	var out testbed.Buffer
	slow := &late{to: &out, free: make(chan struct{})}
	forward := logs.Forwarder{Launch: launch, Out: slow, Err: &out, Now: time.Now}
	err := forward.During(t.Context(), func() error {
		await(t, "the middle is given up", func() bool { return stored(t, filepath.Join(string(launch), "7.out")) < 70<<20 })
		close(slow.free)
		return nil
	})
	if got := out.String(); err != nil || strings.Contains(got, "\x00") || strings.Count(got, "are left out") != 1 {
		t.Errorf("%v, %d zeros, said %d times that something is left out", err, strings.Count(got, "\x00"), strings.Count(got, "are left out"))
	}
}

// late takes nothing for a while.
type late struct {
	to   *testbed.Buffer
	free chan struct{}
}

func (l *late) Write(p []byte) (int, error) {
	<-l.free
	return l.to.Write(p)
}

func TestAReaderThatHasSeenEnoughEndsNothing(t *testing.T) {
	t.Parallel()
	_, launch := launched(t)
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	_ = read.Close()
	var said testbed.Buffer
	forward := logs.Forwarder{Launch: launch, Out: write, Err: &said, Now: time.Now}
	err = forward.During(t.Context(), func() error {
		prints(t, launch, "7.out", "unheard\n")
		prints(t, launch, "7.err", "heard\n")
		await(t, "the other stream is handed on", func() bool { return said.String() == "heard\n" })
		return nil
	})
	if err != nil || said.String() != "heard\n" {
		t.Errorf("%v, said %q", err, said.String())
	}
}
