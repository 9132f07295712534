package delivery

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tensortap/tensortap/e2e/internal/program"
	"github.com/tensortap/tensortap/internal/dev/recorded"
	"github.com/tensortap/tensortap/internal/dev/soak"
)

// Files in the folder of data.
const (
	filesOfTensors  = "archive/event=tensor/run=*/*.parquet"
	filesOfDeclared = "archive/event=declared_comparison/run=*/*.parquet"
	blocksOfStream  = "nats/jetstream/*/streams/TAP/msgs/*.blk"
)

func firstFile(tb testing.TB, data, pattern string) string {
	tb.Helper()
	files, err := filepath.Glob(filepath.Join(data, pattern))
	if err != nil || len(files) == 0 {
		tb.Fatalf("%s: %v, %v", pattern, files, err)
	}
	return files[0]
}

// flipBit changes a bit in the midst of a file.
func flipBit(t *testing.T, path string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text[len(text)/2] ^= 1
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestAStartMendsWhatTablesOrArchiveHaveLost(t *testing.T) {
	t.Parallel()
	for lost, want := range map[string]string{
		"clickhouse": "the tables have again, from the archive: run bad: batches of ",
		"archive":    "the archive has again, from the stream: run bad: batches of ",
	} {
		t.Run(lost, func(t *testing.T) {
			t.Parallel()
			data := t.TempDir()
			u := program.StartUp(t, data, "--archive-age", "100ms")
			sources := twoRuns(t, u)
			rows := sums(t, u)
			mustStop(t, u)
			if err := os.RemoveAll(filepath.Join(data, lost)); err != nil {
				t.Fatal(err)
			}
			u = program.StartUp(t, data, "--archive-age", "100ms")
			mends(t, u, rows, want)
			requireArchive(t, u)
			if out := program.Run(t, u.Setting, "verify"); out.Status != 0 || !strings.HasSuffix(out.Stdout, "nothing is lost, nothing is damaged\n") {
				t.Errorf("verify of mended stores: %v", out)
			}
			requireEqual(t, u, sources)
		})
	}
}

func TestAStartThatDamagedFilesPreventSaysWhatToDo(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	u := program.StartUp(t, data, "--archive-age", "100ms")
	twoRuns(t, u)
	want := sums(t, u)
	mustStop(t, u)
	for _, damaged := range []struct{ pattern, content, remedy, folder string }{
		{"clickhouse/data/store/*/*/tensor.sql", "ATTACH TABLE _ UUID '9d", "run `tensortap restore`", "clickhouse"},
		{"nats/jetstream/*/streams/TAP/obs/parquet/o.dat", "garbage", "start again", "nats/jetstream/*/streams/TAP/obs"},
	} {
		if err := os.WriteFile(firstFile(t, data, damaged.pattern), []byte(damaged.content), 0o600); err != nil {
			t.Fatal(err)
		}
		folders, _ := filepath.Glob(filepath.Join(data, damaged.folder))
		out := program.Run(t, u.Setting, "up")
		if out.Status != program.ExitError || !strings.Contains(out.Stderr, filepath.Join(data, damaged.folder)) || !strings.Contains(out.Stderr, damaged.remedy) {
			t.Errorf("up with a damaged %s: %v", damaged.pattern, out)
		}
		if err := os.RemoveAll(folders[0]); err != nil {
			t.Fatal(err)
		}
		if out := program.Run(t, u.Setting, "restore"); out.Status != 0 {
			t.Errorf("restore: %v", out)
		}
		u = program.StartUp(t, data, "--archive-age", "100ms")
		requireSums(t, u, want)
		mustStop(t, u)
	}
}

func TestVerifyNamesAFlippedBit(t *testing.T) {
	t.Parallel()
	soak.Only(t)
	data := t.TempDir()
	u := program.StartUp(t, data, "--archive-age", "100ms")
	twoRuns(t, u)
	mustStop(t, u)
	for pattern, want := range map[string]string{
		filesOfTensors: "the archive is damaged: read ",
		blocksOfStream: "the stream is damaged: ",
	} {
		file := firstFile(t, data, pattern)
		whole, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		flipBit(t, file)
		if out := program.Run(t, u.Setting, "verify"); out.Status != program.ExitDiffers || !strings.Contains(out.Stdout, want) {
			t.Errorf("verify with a bit flipped in %s: %v", pattern, out)
		}
		if pattern == blocksOfStream {
			if err := os.WriteFile(file, whole, 0o600); err != nil {
				t.Fatal(err)
			}
		} else if out := program.Run(t, u.Setting, "replay"); out.Status != 0 {
			t.Errorf("replay: %v", out)
		}
		if out := program.Run(t, u.Setting, "verify"); out.Status != 0 {
			t.Errorf("verify of %s, mended: %v", pattern, out)
		}
	}
}

func TestVerifyBesideALiveRunCallsNothingLost(t *testing.T) {
	t.Parallel()
	u := program.StartUp(t, t.TempDir(), "--archive-age", "2s")
	twoRuns(t, u)
	dir := enlarged(t, recorded.Unpack(t, "D_tp_golden"), 100)
	publisher := program.NewUp(u.Data, program.Command(t, u.Setting, "publish", "msprobe", dir, "--run", "live"))
	if err := publisher.Begin(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = publisher.Kill() })
	for over := false; !over; {
		select {
		case <-publisher.Ended:
			over = true
		default:
		}
		if out := program.Run(t, u.Setting, "verify"); out.Status != 0 {
			t.Fatalf("verify beside a publisher: %v", out)
		}
	}
}
