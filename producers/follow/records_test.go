package follow_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tensortap/tensortap/producers/follow"
	"github.com/tensortap/tensortap/schemas"
)

const (
	recordsHead  = `{"run": "r", "rank": 3, "host": "node", "pid": 1073741824, "dropped": 0, "time_ns": 1}` + "\n"
	firstRecord  = `{"t":1,"l":20,"n":"a","f":"x.py","i":1,"s":0,"m":"first"}` + "\n"
	secondRecord = `{"t":2,"l":30,"n":"a","f":"x.py","i":2,"s":0,"m":"second"}` + "\n"
	ahead        = 1 << 20
)

// recordFile is a file of records as a process leaves it: zero from the last byte that is written.
func recordFile(t *testing.T, content string) *os.File {
	t.Helper()
	file, err := os.Create(filepath.Join(t.TempDir(), "7.0.logging"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = file.Close() })
	if _, err := file.WriteString(content); err != nil {
		t.Fatal(err)
	}
	if err := file.Truncate(ahead); err != nil {
		t.Fatal(err)
	}
	return file
}

func recordsOf(t *testing.T, file *os.File, s *stream) follow.Config {
	t.Helper()
	cfg, err := follow.Records(follow.Config{Publisher: s, Now: time.Now}, file.Name())
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

func texts(s *stream) []string {
	rows := s.rows()
	slices.SortFunc(rows, func(a, b schemas.LogRow) int { return int(a.Seq) - int(b.Seq) }) //nolint:gosec // small
	var all []string
	for i := range rows {
		all = append(all, rows[i].Text)
	}
	return all
}

func TestRecordsOfAKilledProcessEndWhereItEnded(t *testing.T) {
	t.Parallel()
	for content, want := range map[string]string{
		recordsHead + firstRecord + secondRecord:                                          "first|second",
		recordsHead + firstRecord + secondRecord[:21]:                                     `a record of logging is damaged: "{\"t\":2,\"l\":30,\"n\":\"a\""|first`,
		recordsHead + firstRecord + strings.Repeat("\x00", 9) + secondRecord[9:]:          "first", // a part that was written last is missing
		recordsHead + strings.Repeat(firstRecord, ahead/len(firstRecord)-9) + firstRecord: strings.Repeat("first|", ahead/len(firstRecord)-9) + "first",
	} {
		s := newStream(t)
		if held, err := follow.Run(t.Context(), recordsOf(t, recordFile(t, content), s)); held || err != nil {
			t.Fatal(held, err)
		}
		if got := strings.Join(texts(s), "|"); got != want {
			t.Errorf("%.200s, want %.200s", got, want)
		}
	}
}

func TestRecordsAreReadAsTheyAreWritten(t *testing.T) {
	t.Parallel()
	s := newStream(t)
	file := recordFile(t, recordsHead+firstRecord+secondRecord[:30])
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX); err != nil { //nolint:gosec // small
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() {
		_, err := follow.Run(t.Context(), recordsOf(t, file, s))
		done <- err
	}()
	until(t, func() bool { return slices.Equal(texts(s), []string{"first"}) })
	if _, err := file.WriteAt([]byte(secondRecord[30:]), int64(len(recordsHead+firstRecord)+30)); err != nil {
		t.Fatal(err)
	}
	until(t, func() bool { return len(texts(s)) == 2 })
	if err := file.Truncate(int64(len(recordsHead + firstRecord + secondRecord))); err != nil {
		t.Fatal(err)
	}
	_ = file.Close()
	if err := <-done; err != nil || !slices.Equal(texts(s), []string{"first", "second"}) {
		t.Error(texts(s), err)
	}
}

func until(t *testing.T, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("it does not come")
		}
	}
}
