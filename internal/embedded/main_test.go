package embedded_test

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"golang.org/x/sync/errgroup"

	"github.com/tensortap/tensortap/internal/dev/forgetful"
	"github.com/tensortap/tensortap/internal/dev/testbed"
	"github.com/tensortap/tensortap/internal/embedded"
	"github.com/tensortap/tensortap/internal/embedded/guard"
)

// TestMain lets the test binary be its own engine, as the real binary is, and a parent that a test can kill.
func TestMain(m *testing.M) {
	testbed.ServeEngine()
	if forgetful.Serve() {
		return
	}
	if len(os.Args) > 3 && os.Args[1] == "parent" {
		if len(os.Args) > 4 { // in a user namespace of its own: no more of them there
			if err := os.WriteFile("/proc/sys/user/max_user_namespaces", []byte("0"), 0); err != nil {
				exitWith(err)
			}
		}
		exitWith(runParent(os.Args[2], os.Args[3]))
	}
	os.Exit(m.Run())
}

func exitWith(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// runParent runs an engine until it is killed, and prints the child's process id and the owner's DSN.
func runParent(library, dir string) error {
	cfg := embedded.DefaultEngineConfig(library, dir, childCommand())
	cfg.Log = zerolog.New(os.Stderr)
	engine, err := embedded.NewEngine(cfg)
	if err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(context.Background())
	group.Go(func() error { return engine.Run(ctx) })
	group.Go(func() error {
		select {
		case <-engine.Ready():
			_, err := fmt.Fprintln(os.Stdout, engine.PID(), engine.DSN(guard.Owner))
			return err
		case <-ctx.Done():
		}
		return nil
	})
	return group.Wait()
}

func childCommand() []string {
	self, err := os.Executable()
	if err != nil {
		self = os.Args[0]
	}
	return []string{self, "engine", "serve"}
}

// startEngine runs an engine in dir until the test ends or stop is called, whichever is first.
func startEngine(tb testing.TB, dir string, change func(*embedded.EngineConfig)) (engine *embedded.Engine, stop func()) {
	tb.Helper()
	cfg := embedded.DefaultEngineConfig(testbed.Library(tb), dir, childCommand())
	cfg.MaxMemoryBytes = 1 << 30
	cfg.Log = zerolog.New(zerolog.NewTestWriter(tb))
	if change != nil {
		change(&cfg)
	}
	engine, err := embedded.NewEngine(cfg)
	if err != nil {
		tb.Fatal(err)
	}
	return engine, background(tb, engine.Run, engine.Ready())
}

// background runs run until the test ends or stop is called, and returns when it is ready.
func background(tb testing.TB, run func(context.Context) error, ready <-chan struct{}) (stop func()) {
	tb.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	var group errgroup.Group
	group.Go(func() error { ended <- run(ctx); return nil })
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := <-ended; err != nil {
			tb.Errorf("Run: %v", err)
		}
	}
	select {
	case <-ready:
		tb.Cleanup(stop)
	case err := <-ended:
		cancel()
		tb.Fatalf("Run ended before it was ready: %v", err)
	case <-time.After(90 * time.Second):
		tb.Fatal("not ready within 90 s")
	}
	return stop
}

func benchEngine(b *testing.B) *embedded.Engine {
	b.Helper()
	engine, _ := startEngine(b, b.TempDir(), nil)
	return engine
}
