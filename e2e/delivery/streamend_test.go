package delivery

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tensortap/tensortap/e2e/internal/program"
	"github.com/tensortap/tensortap/internal/dev/recorded"
)

// cutStream takes the end of the stream away, and the server's memory of it with it, as a crash does that damages both.
func cutStream(t *testing.T, data string) {
	t.Helper()
	cutInHalf(t, firstFile(t, data, blocksOfStream))
	remove(t, firstFile(t, data, "nats/jetstream/*/streams/TAP/msgs/index.db"))
}

func TestTheLostEndOfAStreamIsNamed(t *testing.T) {
	t.Parallel()
	const said = "the end of the stream was lost: it ends at message "
	data := t.TempDir()
	u := program.StartUp(t, data, "--archive-age", "100ms")
	twoRuns(t, u)
	mark := filepath.Join(data, "stored")
	if err := program.Await(time.Minute, "a note how far the stores have come", func() bool {
		text, err := os.ReadFile(mark)
		return err == nil && strings.Contains(string(text), " 40 ")
	}); err != nil {
		t.Fatal(err)
	}
	mustStop(t, u)
	cutStream(t, data)
	u = program.StartUp(t, data, "--archive-age", "100ms")
	if !strings.Contains(u.Stderr.String(), said) {
		t.Errorf("up says nothing of the lost end: %s", u.Stderr)
	}
	if out := program.Run(t, u.Setting, "verify"); out.Status != program.ExitDiffers || !strings.Contains(out.Stdout, said) || !strings.Contains(out.Stdout, "the stores have had messages up to 40") {
		t.Errorf("verify: %v, want %q", out, said)
	}
	healed(t, u, program.ExitDiffers, "not whole: the stream is damaged, tables and archive keep what they have of it: "+said)
	// What comes behind the cut takes the places of what was lost: it must not pass for stored.
	u.Publish(t, recorded.Unpack(t, "D_tp_golden"), "later")
	awaitStored(t, program.ConnectStream(t, u.Endpoint.NATS), "clickhouse", "parquet")
	want := sums(t, u)
	requireArchive(t, u)
	if n := u.Query(t, "SELECT count() FROM tap.completeness WHERE NOT complete"); n[0][0] != "0" {
		t.Errorf("%s ranks are not complete", n[0][0])
	}
	mustStop(t, u)
	removeAll(t, filepath.Join(data, "nats"))
	if out := program.Run(t, u.Setting, "restore"); out.Status != 0 {
		t.Errorf("restore: %v", out)
	}
	u = program.StartUp(t, data, "--archive-age", "100ms")
	if strings.Contains(u.Stderr.String(), said) {
		t.Errorf("up takes a stream made anew for a damaged one: %s", u.Stderr)
	}
	healed(t, u, program.ExitSame, "nothing is lost, nothing is damaged")
	requireSums(t, u, want)
}

func TestWhatIsLostWithTheEndOfAStreamBeforeItWasStoredIsToldAndCanBePublishedAgain(t *testing.T) {
	t.Parallel()
	data, old := t.TempDir(), filepath.Join(t.TempDir(), "old")
	u := program.StartUp(t, data, "--archive-age", "100ms")
	u.Publish(t, recorded.Unpack(t, "D_tp_golden"), "earlier")
	awaitStored(t, program.ConnectStream(t, u.Endpoint.NATS), "clickhouse", "parquet")
	mustStop(t, u)
	copyTo(t, data, old)
	u = program.StartUp(t, data, "--archive-age", "100ms")
	sources := twoRuns(t, u)
	want := sums(t, u)
	mustStop(t, u)
	cutStream(t, data)
	// The stores have never had it.
	consumers, err := filepath.Rel(data, firstFile(t, data, "nats/jetstream/*/streams/TAP/obs"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"clickhouse", "archive", consumers} {
		removeAll(t, filepath.Join(data, name))
		copyTo(t, filepath.Join(old, name), filepath.Join(data, name))
	}
	remove(t, filepath.Join(data, "stored"))
	u = program.StartUp(t, data, "--archive-age", "100ms")
	awaitStored(t, program.ConnectStream(t, u.Endpoint.NATS), "clickhouse", "parquet")
	const lost = "published, and lost before any store had it, publish it again: run "
	out := program.Run(t, u.Setting, "verify")
	if out.Status != program.ExitDiffers || !strings.Contains(out.Stdout, lost) || strings.Contains(out.Stdout, "the end of the stream was lost") {
		t.Errorf("verify: %v, want %q, and nothing of what stores had", out, lost)
	}
	healed(t, u, program.ExitDiffers, lost)
	for _, s := range sources {
		t.Log(u.Publish(t, s.dir, s.run))
	}
	u.Settle(t)
	requireSums(t, u, want)
	healed(t, u, program.ExitSame, "nothing is lost, nothing is damaged")
}

func TestSwappedBlocksOfTheStreamAreNamed(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	up := []string{"--archive-age", "100ms", "--stream-bytes", "16000000"} // blocks of 4 MB
	u := program.StartUp(t, data, up...)
	u.Publish(t, enlarged(t, recorded.Unpack(t, "D_tp_golden"), 300), "large")
	awaitStored(t, program.ConnectStream(t, u.Endpoint.NATS), "clickhouse", "parquet")
	want := sums(t, u)
	mustStop(t, u)
	blocks, err := filepath.Glob(filepath.Join(data, blocksOfStream))
	if err != nil || len(blocks) < 2 {
		t.Fatalf("blocks of the stream: %v, %v, want at least 2", blocks, err)
	}
	exchange(t, "", blocks)
	u = program.StartUp(t, data, up...)
	if out := program.Run(t, u.Setting, "verify"); out.Status != program.ExitDiffers || !strings.Contains(out.Stdout, "the stream is damaged: ") {
		t.Errorf("verify: %v, want it to name the stream", out)
	}
	healed(t, u, program.ExitDiffers, "not whole: the stream is damaged, tables and archive keep what they have of it: ")
	requireSums(t, u, want)
	requireArchive(t, u)
}
