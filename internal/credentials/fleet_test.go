package credentials_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/tensortap/tensortap/internal/credentials"
	"github.com/tensortap/tensortap/internal/dev/testbed"
	"github.com/tensortap/tensortap/internal/system"
	"github.com/tensortap/tensortap/schemas"
)

// ownRun is the run that the producer of these tests may publish.
const ownRun = "nightly"

// fleet is a NATS server with the configuration of deploy and users of all roles.
type fleet struct {
	folder string
	url    string
}

func startFleet(tb testing.TB) *fleet {
	tb.Helper()
	return startWith(tb, "nats.conf", nil)
}

// startWith is a fleet with one of the configurations of deploy. An authority makes the certificates that it names.
func startWith(tb testing.TB, name string, signs *testbed.Authority) *fleet {
	tb.Helper()
	f := &fleet{folder: filepath.Join(tb.TempDir(), "secrets")}
	_, err := credentials.Make(credentials.Request{Folder: f.folder, Database: "clickhouse:8123", Runs: []string{ownRun}})
	must(tb, err)
	f.copyConfigurations(tb, signs)
	options, err := server.ProcessConfigFile(filepath.Join(f.folder, name))
	must(tb, err)
	// A place of the test's own; all else is as it is deployed.
	options.Host, options.Port, options.HTTPPort, options.StoreDir, options.NoSigs, options.NoLog = "127.0.0.1", -1, 0, tb.TempDir(), true, true
	nats, err := server.NewServer(options)
	must(tb, err)
	nats.Start()
	tb.Cleanup(func() { nats.Shutdown(); nats.WaitForShutdown() })
	if !nats.ReadyForConnections(time.Minute) {
		tb.Fatal("the server is not ready after a minute")
	}
	f.url = nats.ClientURL()
	return f
}

// configurations are those of deploy.
func configurations(tb testing.TB) []string {
	tb.Helper()
	files, err := filepath.Glob(filepath.Join("..", "..", "deploy", "nats", "*"))
	must(tb, err)
	return files
}

// copyConfigurations puts them beside the users that they include.
func (f *fleet) copyConfigurations(tb testing.TB, signs *testbed.Authority) {
	tb.Helper()
	for _, file := range configurations(tb) {
		text, err := os.ReadFile(file)
		must(tb, err)
		if signs != nil {
			text = []byte(strings.ReplaceAll(string(text), "/etc/nats/tls/", signs.Path("")+"/"))
		}
		must(tb, os.WriteFile(filepath.Join(f.folder, filepath.Base(file)), text, 0o600))
	}
}

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

func (f *fleet) seed(role string) string {
	if role == "producer" {
		return filepath.Join(f.folder, "producer-"+schemas.FormatID(schemas.RunID(ownRun))+".nk")
	}
	return filepath.Join(f.folder, role+".nk")
}

// person is a connection as one role, and what the server refused it.
type person struct {
	*nats.Conn
	js      jetstream.JetStream
	mutex   sync.Mutex
	refused []string
}

func (f *fleet) as(tb testing.TB, role string) *person {
	tb.Helper()
	p := &person{}
	options, err := system.Login{Creds: f.seed(role)}.NATS()
	must(tb, err)
	options = append(options, nats.Timeout(time.Minute), nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
		p.mutex.Lock()
		defer p.mutex.Unlock()
		p.refused = append(p.refused, err.Error())
	}))
	p.Conn, err = nats.Connect(f.url, options...)
	must(tb, err)
	tb.Cleanup(p.Close)
	p.js, err = jetstream.New(p.Conn, jetstream.WithDefaultTimeout(time.Minute))
	must(tb, err)
	return p
}

// wasRefused says whether the server refused something that names the subject. All that was sent before is answered by then.
func (p *person) wasRefused(tb testing.TB, subject string) bool {
	tb.Helper()
	must(tb, p.FlushTimeout(time.Minute))
	err := p.LastError()
	return errors.Is(err, nats.ErrPermissionViolation) && strings.Contains(err.Error(), `"`+subject+`"`)
}

func everybody() []string {
	return []string{"consume", "judge", "alert", "serve", "agent", "producer", "reader", "operator"}
}
