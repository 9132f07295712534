package delivery

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

	"github.com/tensortap/tensortap/e2e/internal/program"
	"github.com/tensortap/tensortap/internal/dev/recorded"
	"github.com/tensortap/tensortap/internal/dev/testbed"
	"github.com/tensortap/tensortap/internal/embedded"
	"github.com/tensortap/tensortap/internal/embedded/guard"
)

// Arguments with which the test binary is a server of its own, as in a fleet.
const (
	natsServer   = "test-nats-server"   // FOLDER PORT HOST
	engineServer = "test-engine-server" // FOLDER PORT LIBRARY PROGRAM
)

// serverSecret is the password of the separate servers.
const serverSecret = "not a secret" //nolint:gosec // of servers that live as long as a test

// beServer is such a server if the arguments say so, until it is killed.
func beServer(args []string) {
	var err error
	switch args[0] {
	case natsServer:
		err = beNATS(args[1], args[2], args[3])
	case engineServer:
		err = beEngine(args[1], args[2], args[3], args[4])
	case daysServer:
		err = beDays(args[1], args[2], args[3])
	default:
		return
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(program.ExitError)
}

func beNATS(dir, port, host string) error {
	number, err := strconv.Atoi(port)
	if err != nil {
		return err
	}
	s, err := server.NewServer(&server.Options{
		JetStream: true, StoreDir: dir, Host: host, Port: number, NoSigs: true, NoLog: true, SyncAlways: true,
		MaxPayload: 8<<20 + 64<<10, JetStreamMaxStore: 100 << 30, Username: "tap", Password: serverSecret,
		AuthTimeout: 30,
	})
	if err != nil {
		return err
	}
	s.Start()
	if !s.ReadyForConnections(time.Minute) {
		return errors.New("the NATS server is not ready after a minute")
	}
	fmt.Fprintln(os.Stdout, "ready")
	s.WaitForShutdown()
	return errors.New("the NATS server ended")
}

func beEngine(dir, port, library, tensortap string) error {
	cfg := embedded.DefaultEngineConfig(library, dir, []string{tensortap, "engine", "serve"})
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
	process *program.Up
}

func newSeparate(tb testing.TB, kind string, more ...string) *separate {
	tb.Helper()
	address := testbed.FreeAddress(tb)
	_, port, _ := net.SplitHostPort(address)
	s := &separate{tb: tb, args: append([]string{kind, tb.TempDir(), port}, more...), address: address}
	tb.Cleanup(s.kill)
	s.start()
	return s
}

func (s *separate) start() {
	s.tb.Helper()
	self, err := os.Executable()
	if err != nil {
		s.tb.Fatal(err)
	}
	cmd := program.Command(s.tb, program.Setting{})
	cmd.Path, cmd.Args = self, append([]string{self}, s.args...)
	s.process = program.NewUp("", cmd)
	if err := s.process.Begin(); err != nil {
		s.tb.Fatal(err)
	}
	err = program.Await(2*time.Minute, s.args[0], func() bool { return strings.Contains(s.process.Stdout.String(), "ready") })
	if err != nil {
		s.tb.Fatalf("%v\n%s", err, s.process.Stderr)
	}
}

func (s *separate) kill() { _ = s.process.Kill() }

func separateNATS(tb testing.TB) (s *separate, url string) {
	tb.Helper()
	return separateNATSAt(tb, "127.0.0.1")
}

// separateNATSAt has one listen at that address of this host.
func separateNATSAt(tb testing.TB, host string) (s *separate, url string) {
	tb.Helper()
	s = newSeparate(tb, natsServer, host)
	s.address = net.JoinHostPort(host, s.args[2])
	return s, "nats://tap:not%20a%20secret@" + s.address
}

func separateEngine(tb testing.TB) (s *separate, dsn string) {
	tb.Helper()
	s = newSeparate(tb, engineServer, testbed.Library(tb), program.Path(tb))
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
			u := program.StartUp(t, data, append([]string{"--archive-age", "100ms"}, flags...)...)
			requireParts(t, u, with)
			from := program.Setting{Data: data} // with both flags, nothing else is needed: not even the folder
			if with.nats && with.clickhouse {
				from = program.Setting{Data: t.TempDir()}
			}
			for run, dir := range map[string]string{"bad": bad, "good": good} {
				out := program.Run(t, from, append([]string{"publish", "msprobe", dir, "--run", run}, flags...)...)
				if out.Status != 0 {
					t.Fatal(out)
				}
			}
			u.Settle(t)
			compared := append([]string{"compare", "bad", "good"}, flags...)
			if out := program.Run(t, from, compared...); out.Status != program.ExitDiffers || !strings.HasPrefix(out.Stdout, "DIFFERS") {
				t.Error(out)
			}
			requireComplete(t, u, 2)
			// The stores among themselves: what a comparison stores is of no source.
			requireEqual(t, u, nil)
		})
	}
}

// requireParts checks that what runs elsewhere does not run here.
func requireParts(t *testing.T, u *program.Up, with elsewhere) {
	t.Helper()
	for part, away := range map[string]bool{"nats": with.nats, "clickhouse": with.clickhouse} {
		if _, err := os.Stat(filepath.Join(u.Data, part)); (err == nil) == away {
			t.Errorf("%s elsewhere is %v, but its folder: %v", part, away, err)
		}
	}
	if n := len(program.ChildrenOf(u.Cmd.Process.Pid)); (n == 0) != with.clickhouse {
		t.Errorf("%d children", n)
	}
	for _, said := range []io.Reader{strings.NewReader(u.Stdout.String()), strings.NewReader(u.Stderr.String())} {
		if text, _ := io.ReadAll(said); strings.Contains(string(text), "not%20a%20secret") || strings.Contains(string(text), serverSecret) {
			t.Errorf("a password is shown: %s", text)
		}
	}
}

func TestComparingFoldersDoesNotTouchServersElsewhere(t *testing.T) {
	t.Parallel()
	dump := recorded.Unpack(t, "B00_golden_L0")
	for _, form := range [][]string{nil, {"--output", "msprobe-csv"}} {
		out := program.Run(t, program.Setting{}, append([]string{"compare", dump, dump, "--nats", "nats://127.0.0.1:1"}, form...)...)
		if note := "note: problem and bench are the same run, " + dump; out.Status != program.ExitSame || !strings.HasPrefix(out.Stderr, note) || strings.Count(out.Stderr, "\n") != 1 {
			t.Errorf("compare %q: %v, want no more than %q", form, out, note)
		}
	}
}

func TestTheNativePortOfClickHouseIsRefused(t *testing.T) {
	t.Parallel()
	out := program.Run(t, program.Setting{Data: t.TempDir()}, "up", "--clickhouse", "clickhouse://owner:hush@127.0.0.1:9000")
	if out.Status != program.ExitError || !strings.Contains(out.Stderr, "give http://") || strings.Contains(out.Stderr, "hush") {
		t.Error(out)
	}
}

func TestServersThatAreNotThereAreNamedWithoutTheirPassword(t *testing.T) {
	t.Parallel()
	testbed.Library(t)
	for flag, address := range map[string]string{"--nats": "nats://tap:hush@127.0.0.1:1", "--clickhouse": "http://owner:hush@127.0.0.1:1"} {
		out := program.Run(t, program.Setting{Data: t.TempDir()}, "up", flag, address)
		if out.Status != program.ExitError || !strings.Contains(out.Stderr, "127.0.0.1:1") || strings.Contains(out.Stderr, "hush") {
			t.Errorf("%s: %v", flag, out)
		}
	}
}

func TestServersOfTheEnvironmentAreUsedButNotShown(t *testing.T) {
	t.Parallel()
	u := program.Shared(t)
	elsewhere := program.Setting{Env: []string{"TENSORTAP_CLICKHOUSE=" + u.Endpoint.Reader, "TENSORTAP_NATS=" + u.Endpoint.NATS}}
	if o := program.Run(t, elsewhere, "query", "SELECT 41 + 1 AS answer", "--output", "csv"); o.Stdout != "answer\n42\n" {
		t.Errorf("query of the database that the environment names: %s", o)
	}
	if o := program.Run(t, elsewhere, "query", "--help"); strings.Contains(o.Stdout+o.Stderr, "@127.0.0.1") {
		t.Errorf("help shows a secret: %s", o)
	}
	dump := recorded.Unpack(t, "B20_tensor_problem")
	if o := program.Run(t, elsewhere, "compare", dump, dump); o.Status != program.ExitSame {
		t.Errorf("compare of folders uses what the environment names: %s", o)
	}
}
