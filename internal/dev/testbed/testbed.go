// Package testbed runs the real ClickHouse engine for tests, in a process of its own.
package testbed

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/tensortap/tensortap/internal/embedded"
	"github.com/tensortap/tensortap/internal/embedded/libchdb"
)

// ServeEngine lets a test binary be its own engine, as the real binary is:
// TestMain calls it first. It returns only when that is not asked for.
func ServeEngine() {
	if len(os.Args) < 3 || os.Args[1] != "engine" || os.Args[2] != "serve" {
		return
	}
	if err := embedded.RunEngine(os.Stdin, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// Command starts this test binary as the engine.
func Command(tb testing.TB) []string {
	tb.Helper()
	self, err := os.Executable()
	if err != nil {
		tb.Fatal(err)
	}
	return []string{self, "engine", "serve"}
}

// Library is the path of the engine's library. Without it the test is skipped,
// or fails where services are required.
func Library(tb testing.TB) string {
	tb.Helper()
	folder, err := os.Getwd()
	if err != nil {
		tb.Fatal(err)
	}
	path, err := libchdb.Locate(libchdb.Places{
		Explicit:   os.Getenv("TENSORTAP_ENGINE"),
		UserFolder: libchdb.UserFolder(os.Getenv("HOME"), os.Getenv("XDG_DATA_HOME")),
		Tree:       folder,
	})
	if err != nil {
		Needed(tb, err.Error())
	}
	return path
}

// Needed skips a test that lacks something, for that reason; with
// REQUIRE_SERVICES=1 it fails it.
func Needed(tb testing.TB, reason string) {
	tb.Helper()
	if os.Getenv("REQUIRE_SERVICES") == "1" {
		tb.Fatal(reason)
	}
	tb.Skip("SKIPPED: " + reason)
}

// EngineConfig runs an engine in a new folder, with known passwords.
func EngineConfig(tb testing.TB) embedded.EngineConfig {
	tb.Helper()
	cfg := embedded.DefaultEngineConfig(Library(tb), tb.TempDir(), Command(tb))
	cfg.MaxMemoryBytes = 3 << 30
	cfg.Guard.OwnerPassword, cfg.Guard.ReaderPassword = "owner", "reader"
	return cfg
}

// StartEngine runs an engine until stop is called, and returns when it is ready.
func StartEngine(tb testing.TB, cfg embedded.EngineConfig) (engine *embedded.Engine, stop func() error) {
	tb.Helper()
	engine, err := embedded.NewEngine(cfg)
	if err != nil {
		tb.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running errgroup.Group
	running.Go(func() error { return engine.Run(ctx) })
	stop = func() error { cancel(); return running.Wait() }
	select {
	case <-engine.Ready():
	case <-time.After(time.Minute):
		tb.Fatalf("the engine is not ready within a minute: %v", stop())
	}
	return engine, stop
}
