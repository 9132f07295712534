package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/rs/zerolog"

	"github.com/tensortap/tensortap/internal/embedded"
	"github.com/tensortap/tensortap/internal/embedded/guard"
	"github.com/tensortap/tensortap/internal/recorded"
	"github.com/tensortap/tensortap/internal/testbed"
)

// Arguments with which the test binary is a server of its own, as in a fleet.
const (
	natsServer   = "test-nats-server"   // FOLDER PORT
	engineServer = "test-engine-server" // FOLDER PORT LIBRARY
)

// serverSecret is the password of the separate servers.
const serverSecret = "not a secret" //nolint:gosec // of servers that live as long as a test

// beServer is such a server if the arguments say so, until it is killed.
func beServer(args []string) {
	var err error
	switch args[0] {
	case natsServer:
		err = beNATS(args[1], args[2])
	case engineServer:
		err = beEngine(args[1], args[2], args[3])
	default:
		return
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(exitError)
}

func beNATS(dir, port string) error {
	number, err := strconv.Atoi(port)
	if err != nil {
		return err
	}
	s, err := server.NewServer(&server.Options{
		JetStream: true, StoreDir: dir, Host: "127.0.0.1", Port: number, NoSigs: true, NoLog: true, SyncAlways: true,
		MaxPayload: 8<<20 + 64<<10, JetStreamMaxStore: 100 << 30, Username: "tap", Password: serverSecret,
	})
	if err != nil {
		return err
	}
	s.Start()
	if !s.ReadyForConnections(10 * time.Second) {
		return errors.New("the NATS server is not ready after 10 s")
	}
	fmt.Fprintln(os.Stdout, "ready")
	s.WaitForShutdown()
	return errors.New("the NATS server ended")
}

func beEngine(dir, port, library string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cfg := embedded.DefaultEngineConfig(library, dir, []string{self, "engine", "serve"})
	cfg.Guard.Address, cfg.Guard.OwnerPassword = "127.0.0.1:"+port, serverSecret
	cfg.Log = zerolog.New(os.Stderr)
	engine, err := embedded.NewEngine(cfg)
	if err != nil {
		return err
	}
	go func() {
		<-engine.Ready()
		fmt.Fprintln(os.Stdout, "ready")
	}()
	return engine.Run(context.Background())
}

// separate is a server that is no part of tensortap's process, and can be killed and started again at its place.
type separate struct {
	tb      testing.TB
	args    []string
	address string
	process *upProcess
}

func newSeparate(tb testing.TB, kind string, more ...string) *separate {
	tb.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // at once
	if err != nil {
		tb.Fatal(err)
	}
	address := listener.Addr().String()
	if err := listener.Close(); err != nil {
		tb.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(address)
	s := &separate{tb: tb, args: append([]string{kind, tb.TempDir(), port}, more...), address: address}
	tb.Cleanup(s.kill)
	s.start()
	return s
}

func (s *separate) start() {
	s.tb.Helper()
	s.process = newUpProcess("", command(s.tb, setting{}, s.args...))
	if err := s.process.begin(); err != nil {
		s.tb.Fatal(err)
	}
	err := await(30*time.Second, s.args[0], func() bool { return strings.Contains(s.process.stdout.String(), "ready") })
	if err != nil {
		s.tb.Fatalf("%v\n%s", err, s.process.stderr)
	}
}

func (s *separate) kill() { _ = s.process.kill() }

func separateNATS(tb testing.TB) (s *separate, url string) {
	tb.Helper()
	s = newSeparate(tb, natsServer)
	return s, "nats://tap:not%20a%20secret@" + s.address
}

func separateEngine(tb testing.TB) (s *separate, dsn string) {
	tb.Helper()
	s = newSeparate(tb, engineServer, testbed.Library(tb))
	return s, "http://" + guard.Owner + ":not%20a%20secret@" + s.address
}

// elsewhere is which parts run apart.
type elsewhere struct{ nats, clickhouse bool }

func TestSeparateServersTakeThePlaceOfTheEmbedded(t *testing.T) {
	t.Parallel()
	bad, good := recorded.Unpack(t, "B02_weight_mix"), recorded.Unpack(t, "B00_golden_mix")
	for name, with := range map[string]elsewhere{
		"NATS": {nats: true}, "ClickHouse": {clickhouse: true}, "both": {nats: true, clickhouse: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var flags []string
			if with.nats {
				_, url := separateNATS(t)
				flags = append(flags, "--nats", url)
			}
			if with.clickhouse {
				_, dsn := separateEngine(t)
				flags = append(flags, "--clickhouse", dsn)
			}
			data := t.TempDir()
			u := startUp(t, data, append([]string{"--archive-age", "100ms"}, flags...)...)
			requireParts(t, u, with)
			from := setting{data: data} // with both flags, nothing else is needed: not even the folder
			if with.nats && with.clickhouse {
				from = setting{data: t.TempDir()}
			}
			for run, dir := range map[string]string{"bad": bad, "good": good} {
				out := process(t, from, append([]string{"publish", "msprobe", dir, "--run", run}, flags...)...)
				if out.status != 0 {
					t.Fatal(out)
				}
			}
			u.settle(t)
			compared := append([]string{"compare", "bad", "good"}, flags...)
			if out := process(t, from, compared...); out.status != exitDiffers || !strings.HasPrefix(out.stdout, "DIFFERS") {
				t.Error(out)
			}
			requireComplete(t, u, 2)
			// The stores among themselves: what a comparison stores is of no source.
			requireEqual(t, u, nil)
		})
	}
}

// requireParts checks that what runs elsewhere does not run here.
func requireParts(t *testing.T, u *upProcess, with elsewhere) {
	t.Helper()
	for part, away := range map[string]bool{"nats": with.nats, "clickhouse": with.clickhouse} {
		if _, err := os.Stat(filepath.Join(u.data, part)); (err == nil) == away {
			t.Errorf("%s elsewhere is %v, but its folder: %v", part, away, err)
		}
	}
	if n := len(childrenOf(u.cmd.Process.Pid)); (n == 0) != with.clickhouse {
		t.Errorf("%d children", n)
	}
	for _, said := range []io.Reader{strings.NewReader(u.stdout.String()), strings.NewReader(u.stderr.String())} {
		if text, _ := io.ReadAll(said); strings.Contains(string(text), "not%20a%20secret") || strings.Contains(string(text), serverSecret) {
			t.Errorf("a password is shown: %s", text)
		}
	}
}

func TestComparingFoldersDoesNotTouchServersElsewhere(t *testing.T) {
	t.Parallel()
	testbed.Library(t)
	out := process(t, setting{}, "compare", t.TempDir(), t.TempDir(), "--nats", "nats://127.0.0.1:1")
	if out.status != exitError || !strings.Contains(out.stderr, "publish each") {
		t.Error(out)
	}
}

func TestTheNativePortOfClickHouseIsRefused(t *testing.T) {
	t.Parallel()
	out := process(t, setting{data: t.TempDir()}, "up", "--clickhouse", "clickhouse://owner:hush@127.0.0.1:9000")
	if out.status != exitError || !strings.Contains(out.stderr, "give http://") || strings.Contains(out.stderr, "hush") {
		t.Error(out)
	}
}

func TestServersThatAreNotThereAreNamedWithoutTheirPassword(t *testing.T) {
	t.Parallel()
	testbed.Library(t)
	for flag, address := range map[string]string{"--nats": "nats://tap:hush@127.0.0.1:1", "--clickhouse": "http://owner:hush@127.0.0.1:1"} {
		out := process(t, setting{data: t.TempDir()}, "up", flag, address)
		if out.status != exitError || !strings.Contains(out.stderr, "127.0.0.1:1") || strings.Contains(out.stderr, "hush") {
			t.Errorf("%s: %v", flag, out)
		}
	}
}

func TestServersOfTheEnvironmentAreUsedButNotShown(t *testing.T) {
	t.Parallel()
	u := shared(t)
	elsewhere := setting{env: []string{"TENSORTAP_CLICKHOUSE=" + u.endpoint.Reader, "TENSORTAP_NATS=" + u.endpoint.NATS}}
	if o := inside(t, elsewhere, "query", "SELECT 41 + 1 AS answer", "--output", "csv"); o.stdout != "answer\n42\n" {
		t.Errorf("query of the database that the environment names: %s", o)
	}
	if o := inside(t, elsewhere, "query", "--help"); strings.Contains(o.stdout+o.stderr, "@127.0.0.1") {
		t.Errorf("help shows a secret: %s", o)
	}
	dump := recorded.Unpack(t, "B20_tensor_problem")
	if o := inside(t, elsewhere, "compare", dump, dump); o.status != exitSame {
		t.Errorf("compare of folders uses what the environment names: %s", o)
	}
}
