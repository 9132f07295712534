package delivery

import (
	"testing"
	"time"

	"github.com/tensortap/tensortap/e2e/internal/program"
	"github.com/tensortap/tensortap/internal/dev/recorded"
	"github.com/tensortap/tensortap/pipelines"
)

// TestAStreamServerThatIsKilledAloneLosesNothing kills the NATS server of a system again and again while a folder is
// published; publisher and consumers live on.
func TestAStreamServerThatIsKilledAloneLosesNothing(t *testing.T) {
	t.Parallel()
	stream, url := separateNATS(t)
	u := program.StartUp(t, t.TempDir(), "--archive-age", "100ms", "--nats", url)
	js := program.ConnectStream(t, url)
	dump := published{enlarged(t, recorded.Unpack(t, "D_tp_golden"), 60), "run"}
	publisher := program.NewUp(u.Data, program.Command(t, u.Setting, "publish", "msprobe", dump.dir, "--run", dump.run, "--nats", url))
	if err := publisher.Begin(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = publisher.Kill() })
	kills := 0
	for have := uint64(0); kills < soakKills(t, 3); kills++ {
		err := program.Await(program.Patience, "more messages, or all", func() bool {
			if ended(publisher) {
				return true
			}
			now, err := js.Stream(t.Context(), pipelines.StreamName)
			if err != nil || now.CachedInfo().State.Msgs < have+5 {
				return false
			}
			have = now.CachedInfo().State.Msgs
			return true
		})
		if err != nil {
			t.Fatalf("%v\npublish: %s\nup: %s", err, publisher.Stderr, u.Stderr)
		}
		if ended(publisher) {
			break
		}
		stream.kill()
		stream.start()
	}
	if kills == 0 {
		t.Error("the publisher was through before the first kill: the test tries nothing")
	}
	select {
	case <-publisher.Ended:
	case <-time.After(program.Patience):
		t.Fatalf("the publisher did not go on: %s\nup: %s", publisher.Stderr, u.Stderr)
	}
	if publisher.Cmd.ProcessState.ExitCode() != 0 {
		t.Errorf("publish: %v\n%s", publisher.Cmd.ProcessState, publisher.Stderr)
	}
	t.Logf("%d kills of the stream's server", kills)
	requireAll(t, u, []published{dump})
}

// ended says whether a process has.
func ended(p *program.Up) bool {
	select {
	case <-p.Ended:
		return true
	default:
		return false
	}
}
