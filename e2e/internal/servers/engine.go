package servers

import (
	"context"
	"fmt"
	"os"
	"testing"

	chgo "github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/rs/zerolog"

	"github.com/tensortap/tensortap/e2e/internal/program"
	"github.com/tensortap/tensortap/internal/dev/testbed"
	"github.com/tensortap/tensortap/internal/embedded"
	"github.com/tensortap/tensortap/internal/embedded/guard"
)

// engineServer is the argument with which a test binary is an engine: FOLDER ADDRESS LIBRARY PROGRAM.
const engineServer = "test-engine-server"

const engineSecret = "of a test"

// Engine is a ClickHouse server elsewhere, which can be killed and started again at its place.
type Engine struct {
	DSN     string
	Process *program.Up

	Dir     string
	address string
}

// NewEngine is one that does not run yet.
func NewEngine(tb testing.TB) *Engine {
	tb.Helper()
	address := testbed.FreeAddress(tb)
	return &Engine{DSN: "http://" + guard.Owner + ":of%20a%20test@" + address, Dir: tb.TempDir(), address: address}
}

// StartEngine runs one until the test ends.
func StartEngine(tb testing.TB) *Engine {
	tb.Helper()
	e := NewEngine(tb)
	e.Start(tb)
	return e
}

// Start returns once the engine answers. It is killed as the test ends.
func (e *Engine) Start(tb testing.TB) {
	tb.Helper()
	e.Process = start(tb, engineServer, e.Dir, e.address, testbed.Library(tb), program.Path(tb))
}

// Open connects to it as its owner.
func (e *Engine) Open(tb testing.TB) driver.Conn {
	tb.Helper()
	options, err := chgo.ParseDSN(e.DSN)
	if err != nil {
		tb.Fatal(err)
	}
	conn, err := chgo.Open(options)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = conn.Close() })
	return conn
}

func beEngine(args []string) error {
	dir, address, library, tensortap := args[0], args[1], args[2], args[3]
	cfg := embedded.DefaultEngineConfig(library, dir, []string{tensortap, "engine", "serve"})
	cfg.Guard.Address, cfg.Guard.OwnerPassword = address, engineSecret
	cfg.Log = zerolog.New(os.Stderr)
	engine, err := embedded.NewEngine(cfg)
	if err != nil {
		return err
	}
	go func() {
		<-engine.Ready()
		fmt.Fprintln(os.Stdout, ready)
	}()
	return engine.Run(context.Background())
}
