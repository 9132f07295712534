package flightrecorder_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tensortap/tensortap/producers"
	"github.com/tensortap/tensortap/producers/flightrecorder"
	"github.com/tensortap/tensortap/schemas"
)

// told is what files become.
type told struct {
	calls    []schemas.CollectiveRow
	stacks   map[uint64][]string
	problems []string
	guessed  bool
}

// lines are the calls in short.
func (a *told) lines() (lines []string) {
	for i := range a.calls {
		c := &a.calls[i]
		lines = append(lines, fmt.Sprintf("%d: %s %d %s %s %s", c.Rank, c.ProcessGroup, c.GroupSeq, c.Name, c.Inputs, c.State))
	}
	return lines
}

func read(tb testing.TB, path string) told {
	tb.Helper()
	all, err := tryToRead(tb, path)
	if err != nil {
		tb.Fatal(err)
	}
	return all
}

func tryToRead(tb testing.TB, path string) (told, error) {
	tb.Helper()
	found, err := flightrecorder.Tool().Find(path)
	if err != nil {
		return told{}, err
	}
	all := told{stacks: map[uint64][]string{}, guessed: found.RanksGuessed, problems: found.Problems.First}
	for _, dump := range found.Dumps {
		source, err := dump.Open("a run", nil)
		if err != nil {
			tb.Fatal(err)
		}
		all.add(tb, source)
	}
	return all, nil
}

func (a *told) add(tb testing.TB, source producers.Source) {
	tb.Helper()
	for message, err := range source.Content.Batches(context.Background()) {
		if err != nil {
			tb.Fatal(err)
		}
		switch message.Header.Kind {
		case schemas.Collective().Kind():
			a.calls = append(a.calls, rowsOf[schemas.CollectiveRow](tb, message)...)
		case schemas.Step().Kind(), schemas.Rank().Kind():
			tb.Errorf("a row of kind %s, which would take the place of a recorded one", message.Header.Kind)
		case schemas.Stack().Kind():
			for _, row := range rowsOf[schemas.StackRow](tb, message) {
				a.stacks[row.StackID] = row.Frames
			}
		}
	}
	a.problems = append(a.problems, source.Problems().First...)
}

func rowsOf[R any, P schemas.Row[R]](tb testing.TB, message schemas.Message) []R {
	tb.Helper()
	rows, err := schemas.DecodeRows[R, P](message)
	if err != nil {
		tb.Fatal(err)
	}
	return rows
}

func requireLines(tb testing.TB, got, want []string) {
	tb.Helper()
	if !slices.Equal(got, want) {
		tb.Errorf("got:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestFilesOfNCCLTellHowFarEachRankGot(t *testing.T) {
	t.Parallel()
	got := read(t, "testdata/nccl")
	requireLines(t, got.lines(), []string{
		"0: tp [0-1] 1 all_reduce bfloat16[8, 4096] completed",
		"0: tp [0-1] 2 all_reduce bfloat16[8, 4096] scheduled",
		"1: tp [0-1] 1 all_reduce bfloat16[8, 4096] completed",
		"1: tp [0-1] 2 all_reduce bfloat16[8, 4096] started",
	})
	c := got.calls[3]
	if !slices.Equal(c.GroupRanks, []int64{0, 1}) || c.EventTimeNs != 1767323045000000002 || *c.TimeoutNs != 600e9 || c.StartedTimeNs != nil ||
		!slices.Equal(got.stacks[c.StackID], []string{"File train.py, line 7, in step"}) {
		t.Errorf("%+v, stacks %v", c, got.stacks)
	}
	if len(got.problems) != 0 || got.guessed {
		t.Errorf("problems %q, guessed %v", got.problems, got.guessed)
	}
}

// gloo's files of this folder were written by testdata/make.py while ranks 0 and 1 waited for rank 2.
func TestFilesOfGlooShowTheCallThatOneRankLeftOut(t *testing.T) {
	t.Parallel()
	want := []string{}
	for rank := range 2 {
		for seq := 1; seq <= 3; seq++ {
			state := "completed"
			if seq == 3 {
				state = "scheduled"
			}
			want = append(want, fmt.Sprintf("%d: tp %d all_reduce float32[2] completed", rank, seq), fmt.Sprintf("%d: default_pg %d all_reduce bfloat16[4, 8] %s", rank, seq, state))
		}
	}
	want = append(want, "2: default_pg 1 all_reduce bfloat16[4, 8] completed", "2: default_pg 2 all_reduce bfloat16[4, 8] completed")
	for _, form := range []string{"pickle", "json"} {
		got := read(t, filepath.Join("testdata", form))
		requireLines(t, got.lines(), want)
		if len(got.problems) != 0 || got.guessed {
			t.Errorf("%s: problems %q, guessed %v", form, got.problems, got.guessed)
		}
	}
}

func TestAGroupIsKnownByDescriptionAndRanksWhateverItsNumberAtARank(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "trace_0"), trace("1", "[1, 0]", 7))
	write(t, filepath.Join(dir, "trace_1"), trace("3", "[0, 1]", 7))
	write(t, filepath.Join(dir, "trace_2"), trace("1", "[2, 3]", 7))
	got := read(t, dir)
	requireLines(t, got.lines(), []string{
		"0: tp [0-1] 7 all_reduce float32[2] completed",
		"1: tp [0-1] 7 all_reduce float32[2] completed",
		"2: tp [2-3] 7 all_reduce float32[2] completed",
	})
}

func TestRanksOfFilesWithoutNumbersAreGuessedByTheirOrder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "first.json"), trace("0", "[0, 1]", 1))
	write(t, filepath.Join(dir, "second.json"), trace("0", "[0, 1]", 1))
	got := read(t, dir)
	if !got.guessed || len(got.calls) != 2 || got.calls[1].Rank != 1 {
		t.Errorf("guessed %v, %q", got.guessed, got.lines())
	}
}

func TestAFileOfSomethingElseIsRefusedWithItsName(t *testing.T) {
	t.Parallel()
	for name, content := range map[string]string{"empty": "", "text": "hello", "object": "{}", "pickle": "\x80\x02}q\x00."} {
		path := filepath.Join(t.TempDir(), name)
		write(t, path, content)
		if _, err := tryToRead(t, path); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAPickleThatWouldRunCodeIsReadUpToThere(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "trace_rank_0")
	write(t, path, "\x80\x02cos\nsystem\nX\x04\x00\x00\x00true\x85R.")
	if _, err := tryToRead(t, path); err == nil || !strings.Contains(err.Error(), "refused") {
		t.Errorf("%v", err)
	}
}

// Whatever is cut off or changed, the calls before it count, and the loss is told.
func TestFilesCutShortKeepTheirFirstCalls(t *testing.T) {
	t.Parallel()
	for _, file := range fixtures() {
		whole, all := contentOf(t, file), read(t, file)
		for size := 0; size < len(whole); size += 100 {
			path := filepath.Join(t.TempDir(), filepath.Base(file))
			write(t, path, whole[:size])
			got, err := tryToRead(t, path)
			if err != nil {
				continue // before its first call was whole
			}
			if len(got.problems) == 0 || len(got.calls) >= len(all.calls) && size < len(whole)/2 {
				t.Errorf("%s cut at %d: %d calls, problems %q", file, size, len(got.calls), got.problems)
			}
			for i := range got.calls {
				if got.calls[i].Name != all.calls[i].Name || got.calls[i].GroupSeq != all.calls[i].GroupSeq || got.calls[i].State != all.calls[i].State {
					t.Errorf("%s cut at %d: call %d is %s", file, size, i, got.lines()[i])
				}
			}
		}
	}
}

func TestChangedBytesNeverStopTheReader(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // the same in each run
	for _, file := range fixtures() {
		whole := contentOf(t, file)
		for range 300 {
			changed := []byte(whole)
			for range 1 + random.IntN(3) {
				changed[random.IntN(len(changed))] = byte(random.IntN(256))
			}
			path := filepath.Join(t.TempDir(), filepath.Base(file))
			write(t, path, string(changed))
			if _, err := tryToRead(t, path); err != nil && !strings.Contains(err.Error(), path) {
				t.Errorf("%s: error without its name: %v", file, err)
			}
		}
	}
}

func fixtures() []string {
	return []string{"testdata/nccl/nccl_trace_rank_0", "testdata/pickle/gloo_trace_rank_0", "testdata/json/gloo_trace_rank_1.json"}
}

func contentOf(tb testing.TB, path string) string {
	tb.Helper()
	text, err := os.ReadFile(path) //nolint:gosec // of the test
	if err != nil {
		tb.Fatal(err)
	}
	return string(text)
}

func write(tb testing.TB, path, content string) {
	tb.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		tb.Fatal(err)
	}
}

func trace(name, ranks string, seq int) string {
	return fmt.Sprintf(`{"entries":[{"record_id":0,"process_group":[%q,"tp"],"collective_seq_id":%d,"is_p2p":false,`+
		`"profiling_name":"nccl:all_reduce","state":"completed","time_created_ns":5,"input_sizes":[[2]],"input_dtypes":["Float"]}],`+
		`"pg_config":{%q:{"name":%q,"desc":"tp","ranks":%q}}}`, name, seq, name, name, ranks)
}
