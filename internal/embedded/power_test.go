package embedded_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/tensortap/tensortap/internal/dev/forgetful"
	"github.com/tensortap/tensortap/pipelines"
)

// prepared is a client of a server on the disk whose streams and buckets are there.
func prepared(t *testing.T, disk string) (js jetstream.JetStream, stop func()) {
	t.Helper()
	server, end := startNATS(t, filepath.Join(disk, "data", "nats"), nil)
	connection, err := nats.Connect(server.URL(), nats.Timeout(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	js, err = jetstream.New(connection, jetstream.WithDefaultTimeout(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	cfg := pipelines.DefaultConfig()
	cfg.Stream.MaxBytes, cfg.Stream.DeadMaxBytes, cfg.Stream.Consumers = 1<<30, 64<<20, []string{"store"}
	cfg.Publish.SpillDir = filepath.Join(disk, "spill")
	if err := pipelines.Prepare(t.Context(), js, cfg); err != nil {
		t.Fatal(err)
	}
	return js, func() { connection.Close(); end() }
}

func claimOf(step int) pipelines.ClaimRequest {
	return pipelines.ClaimRequest{RunID: 1, Step: uint32(step), Content: uint64(step), EventTimeNs: int64(step)} //nolint:gosec // small
}

// publishStep claims a step, publishes its message and finishes the claim, and marks what is acknowledged.
func publishStep(t *testing.T, js jetstream.JetStream, step int, mark func(string)) {
	t.Helper()
	claims, err := pipelines.OpenClaims(t.Context(), js)
	if err != nil {
		t.Fatal(err)
	}
	claim, err := claims.Make(t.Context(), claimOf(step))
	if err != nil {
		t.Fatal(err)
	}
	mark(fmt.Sprint("claimed ", step))
	if _, err := js.Publish(t.Context(), "tap.step.1.0", fmt.Append(nil, "step ", step), jetstream.WithMsgID(fmt.Sprint(step))); err != nil {
		t.Fatal(err)
	}
	mark(fmt.Sprint("published ", step))
	if err := claims.Finish(t.Context(), claim); err != nil {
		t.Fatal(err)
	}
	mark(fmt.Sprint("finished ", step))
}

func TestALossOfPowerTakesNoMessageAndNoClaim(t *testing.T) {
	t.Parallel()
	const steps = 6
	d := forgetful.Mount(t)
	for start := range 2 {
		js, stop := prepared(t, d.Dir)
		for step := range steps / 2 {
			publishStep(t, js, start*steps/2+step, d.Mark)
		}
		stop()
	}
	recording := d.Recording()
	recording.Named = true // the server syncs no folder that it puts a new file in
	recording.Recover(t, 17, func(dir string, m *forgetful.Moment) {
		js, stop := prepared(t, dir)
		defer stop()
		for _, mark := range m.Marks {
			checkStep(t, js, mark)
		}
		publishStep(t, js, steps, func(string) {})
	})
}

// checkStep checks that the server has what it acknowledged.
func checkStep(t *testing.T, js jetstream.JetStream, mark string) {
	t.Helper()
	var step int
	verb, number, _ := strings.Cut(mark, " ")
	if _, err := fmt.Sscan(number, &step); err != nil {
		t.Fatal(err)
	}
	switch verb {
	case "claimed", "finished":
		want := claimOf(step)
		want.EventTimeNs += int64(time.Hour) // only a claim that is not there would have it
		claims, err := pipelines.OpenClaims(t.Context(), js)
		if err != nil {
			t.Fatal(err)
		}
		claim, err := claims.Make(t.Context(), want)
		if err != nil || claim.EventTimeNs != int64(step) || verb == "finished" && !claim.Done {
			t.Errorf("%s: claim %+v, %v", mark, claim, err)
		}
	case "published":
		again, err := js.Publish(t.Context(), "tap.step.1.0", nil, jetstream.WithMsgID(number))
		if err != nil || !again.Duplicate {
			t.Errorf("%s: the message is taken again: %+v, %v", mark, again, err)
		}
	}
}
