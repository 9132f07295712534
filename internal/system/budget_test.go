package system

import (
	"context"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"

	"github.com/tensortap/tensortap/internal/embedded"
	"github.com/tensortap/tensortap/pipelines"
)

func TestTheStreamIsGivenNoMoreThanTheDiskHas(t *testing.T) {
	t.Parallel()
	const gigabyte = 1_000_000_000
	for name, c := range map[string]struct{ size, free, has, want int64 }{
		"large":              {4000 * gigabyte, 3000 * gigabyte, 0, 50 * gigabyte},
		"middling":           {100 * gigabyte, 60 * gigabyte, 0, 10 * gigabyte},
		"nearly full":        {100 * gigabyte, 6 * gigabyte, 0, 3 * gigabyte},
		"filled by it":       {100 * gigabyte, gigabyte, 9 * gigabyte, 9 * gigabyte},
		"partly filled":      {100 * gigabyte, 6 * gigabyte, 2 * gigabyte, 4 * gigabyte},
		"as good as full":    {100 * gigabyte, 0, 0, leastStream},
		"as small as a disk": {2 * gigabyte, gigabyte, 0, 2 * gigabyte / 10},
	} {
		if got := streamShare(c.size, c.free, c.has); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}

// TestAStreamThatWasGivenMoreTakesLess has a system start with all that a stream is ever given by itself, and then with less, as where the
// disk has filled meanwhile.
func TestAStreamThatWasGivenMoreTakesLess(t *testing.T) {
	t.Parallel()
	folder := Folder(t.TempDir())
	all, err := folder.budget(0)
	if err != nil {
		t.Fatal(err)
	}
	for _, asked := range []int64{all.StoreBytes, leastStream} {
		given, err := folder.budget(asked)
		if err != nil {
			t.Fatal(err)
		}
		if err := prepareWith(t, folder, given); err != nil {
			t.Fatalf("a stream of %d bytes: %v", asked, err)
		}
	}
}

// prepareWith starts a server as a system does, makes the streams, and stops it.
func prepareWith(t *testing.T, folder Folder, given Budget) error {
	t.Helper()
	server := embedded.DefaultNATSConfig(folder.nats())
	server.MaxStoreBytes = given.StoreBytes + deadLetterBytes + headroomBytes
	running, err := embedded.NewNATS(server)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	var group errgroup.Group
	group.Go(func() error { return running.Run(ctx) })
	defer func() {
		stop()
		if err := group.Wait(); err != nil {
			t.Error(err)
		}
	}()
	<-running.Ready()
	conn, err := nats.Connect(running.URL(), nats.Timeout(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	js, err := jetstream.New(conn, jetstream.WithDefaultTimeout(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	cfg := pipelines.DefaultConfig()
	cfg.Stream.MaxBytes, cfg.Stream.DeadMaxBytes, cfg.Publish.SpillDir = given.StreamBytes, deadLetterBytes, t.TempDir()
	return pipelines.Prepare(t.Context(), js, cfg)
}
