package embedded_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"

	"github.com/tensortap/tensortap/internal/embedded"
)

func startNATS(t *testing.T, dir string, change func(*embedded.NATSConfig)) (natsServer *embedded.NATS, stop func()) {
	t.Helper()
	cfg := embedded.DefaultNATSConfig(dir)
	cfg.Log = zerolog.New(zerolog.NewTestWriter(t))
	if change != nil {
		change(&cfg)
	}
	natsServer, err := embedded.NewNATS(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return natsServer, background(t, natsServer.Run, natsServer.Ready())
}

// connect returns JetStream of a client that never gives up, and its stream.
func connect(t *testing.T, url string) (jetstream.JetStream, jetstream.Stream) {
	t.Helper()
	connection, err := nats.Connect(url, nats.MaxReconnects(-1), nats.ReconnectWait(20*time.Millisecond), nats.Timeout(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(connection.Close)
	stream, err := jetstream.New(connection, jetstream.WithDefaultTimeout(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	created, err := stream.CreateOrUpdateStream(t.Context(), jetstream.StreamConfig{
		Name: "TEST", Subjects: []string{"test.>"}, Discard: jetstream.DiscardNew, Duplicates: 10 * time.Minute,
	})
	if err != nil {
		t.Fatal(err)
	}
	return stream, created
}

func TestNATSKeepsMessagesOverARestart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for start := range 3 {
		begin := time.Now()
		natsServer, stop := startNATS(t, dir, nil)
		t.Logf("ready after %s", time.Since(begin))
		stream, created := connect(t, natsServer.URL())
		info, err := created.Info(t.Context())
		if err != nil || info.State.Msgs != uint64(start) {
			t.Fatalf("start %d: got %d messages, %v", start, info.State.Msgs, err)
		}
		// The largest message that DELIVERY allows, and one byte more.
		if _, err := stream.Publish(t.Context(), "test.a", make([]byte, 8<<20)); err != nil {
			t.Fatal(err)
		}
		if _, err := stream.Publish(t.Context(), "test.a", make([]byte, 8<<20+64<<10+1)); !errors.Is(err, nats.ErrMaxPayload) {
			t.Errorf("too large a message: got %v, want %v", err, nats.ErrMaxPayload)
		}
		stop()
	}
}

func TestNATSRefusesStrangers(t *testing.T) {
	t.Parallel()
	natsServer, _ := startNATS(t, t.TempDir(), nil)
	for _, url := range []string{
		natsServer.URL()[strings.LastIndex(natsServer.URL(), "@")+1:],
		"nats://wrong@" + natsServer.URL()[strings.LastIndex(natsServer.URL(), "@")+1:],
	} {
		if connection, err := nats.Connect(url, nats.Timeout(time.Minute)); !errors.Is(err, nats.ErrAuthorization) {
			t.Errorf("%s: got %v, want %v", url, err, nats.ErrAuthorization)
			connection.Close()
		}
	}
}

func TestNATSThatCannotStartSaysWhy(t *testing.T) {
	t.Parallel()
	first, _ := startNATS(t, t.TempDir(), nil)
	taken := embedded.DefaultNATSConfig(t.TempDir())
	taken.Address = first.URL()[strings.LastIndex(first.URL(), "@")+1:]
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "jetstream"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for want, cfg := range map[string]embedded.NATSConfig{
		"address already in use":               taken,
		"storage directory is not a directory": embedded.DefaultNATSConfig(dir),
		"limits must be greater than zero":     {Dir: dir, Address: "127.0.0.1:0"},
	} {
		cfg.StartTimeout = min(cfg.StartTimeout, 3*time.Second)
		natsServer, err := embedded.NewNATS(cfg)
		if err == nil {
			err = natsServer.Run(t.Context())
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

func TestNATSGoesOnWhenTheDiskHasRoomAgain(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=64m"); err != nil {
		if os.Getenv("REQUIRE_SERVICES") == "1" {
			t.Fatalf("mount a small disk: %v", err)
		}
		t.Skipf("NOT TESTED: a full disk under the stream: mounting a small one is not allowed here: %v", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
	ballast := filepath.Join(dir, "ballast")
	if err := os.WriteFile(ballast, make([]byte, 48<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	natsServer, stop := startNATS(t, filepath.Join(dir, "nats"), func(c *embedded.NATSConfig) { c.FreeBytes = 16 << 20 })
	url := natsServer.URL()
	stream, _ := connect(t, url)
	stored := publishUntilFull(t, stream)
	t.Logf("full after %d messages", stored)
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	for publish(ctx, stream, stored) != nil {
		if ctx.Err() != nil {
			t.Fatal("no message was taken within two minutes after room was made")
		}
	}
	if natsServer.URL() != url || natsServer.Restarts() == 0 {
		t.Errorf("got %s after %d restarts, want %s after one at least", natsServer.URL(), natsServer.Restarts(), url)
	}
	requireStored(t, stream, stored+1)
	stop()
}

func publish(ctx context.Context, stream jetstream.JetStream, number int) error {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	id := fmt.Sprint(number)
	_, err := stream.Publish(ctx, "test.a", append([]byte(id+" "), make([]byte, 1<<20)...), jetstream.WithMsgID(id))
	return err
}

// publishUntilFull returns how many messages of 1 MiB were acknowledged.
func publishUntilFull(t *testing.T, stream jetstream.JetStream) int {
	t.Helper()
	const tries = 10 // a slow machine gives no answer within a second, too
	for number := range 1000 {
		for try := 1; ; try++ {
			err := publish(t.Context(), stream, number)
			if err == nil {
				break
			}
			if try == tries {
				t.Log(err)
				return number
			}
		}
	}
	t.Fatal("the disk never filled up")
	return 0
}

// requireStored checks that each of the first n messages is there, once, in order.
func requireStored(t *testing.T, stream jetstream.JetStream, n int) {
	t.Helper()
	created, err := stream.Stream(t.Context(), "TEST")
	if err != nil {
		t.Fatal(err)
	}
	info, err := created.Info(t.Context())
	if err != nil || info.State.Msgs != uint64(n) {
		t.Fatalf("stored: got %d messages, %v; want %d", info.State.Msgs, err, n)
	}
	for i := range n {
		message, err := created.GetMsg(t.Context(), info.State.FirstSeq+uint64(i))
		if err != nil || !bytes.HasPrefix(message.Data, fmt.Appendf(nil, "%d ", i)) {
			t.Fatalf("message %d: %v", i, err)
		}
	}
}
