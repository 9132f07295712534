package system

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/tensortap/tensortap/internal/dev/testbed"
)

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

// encrypted is a NATS server that wants a certificate of its clients.
func encrypted(tb testing.TB, a *testbed.Authority) string {
	tb.Helper()
	config, err := server.GenTLSConfig(&server.TLSConfigOpts{
		CertFile: a.Path("server.pem"), KeyFile: a.Path("server-key.pem"), CaFile: a.Path("ca.pem"), Verify: true, Timeout: 30,
	})
	must(tb, err)
	nats, err := server.NewServer(&server.Options{
		Host: "127.0.0.1", Port: -1, JetStream: true, StoreDir: tb.TempDir(), NoSigs: true, NoLog: true, TLSConfig: config, TLSVerify: true, TLS: true, TLSTimeout: 30,
	})
	must(tb, err)
	nats.Start()
	tb.Cleanup(func() { nats.Shutdown(); nats.WaitForShutdown() })
	if !nats.ReadyForConnections(time.Minute) {
		tb.Fatal("the server is not ready after a minute")
	}
	return "tls://" + nats.Addr().String()
}

func TestConnectionsToNATSAreEncryptedAndBothSidesKnown(t *testing.T) {
	t.Parallel()
	a, strange := testbed.NewAuthority(t), testbed.NewAuthority(t)
	a.Sign("server")
	a.Sign("client")
	strange.Sign("client")
	url := encrypted(t, a)
	known := Login{CA: a.Path("ca.pem"), Cert: a.Path("client.pem"), Key: a.Path("client-key.pem")}
	client, err := ConnectStream(Endpoint{NATS: url, Login: known}, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	if !client.stream.Conn().TLSRequired() {
		t.Error("the connection is not encrypted")
	}
	client.Close()
	refusals := map[string]Login{
		"unknown authority":        {},
		"certificate":              {CA: a.Path("ca.pem")},
		"unknown certificate":      {CA: a.Path("ca.pem"), Cert: strange.Path("client.pem"), Key: strange.Path("client-key.pem")},
		"--tls-cert and --tls-key": {CA: a.Path("ca.pem"), Cert: a.Path("client.pem")},
		"no such file":             {CA: a.Path("nowhere.pem")},
		"holds no seed":            {Creds: a.Path("ca.pem")},
		"read the credentials":     {Creds: a.Path("nowhere.nk")},
	}
	for want, login := range refusals {
		client, err := ConnectStream(Endpoint{NATS: url, Login: login}, time.Now)
		if err == nil {
			client.Close()
		}
		if err == nil || !strings.Contains(err.Error(), want) && !closedFirst(want, err) {
			t.Errorf("%+v: %v, want %q", login, err, want)
		}
	}
}

// closedFirst says whether a server that refuses a certificate closed the connection before its reason was read.
func closedFirst(want string, err error) bool {
	return strings.HasSuffix(want, "certificate") && strings.Contains(err.Error(), "closed by remote after TLS handshake")
}

// TestConnectionsToClickHouseAreEncrypted has a server that answers as ClickHouse's HTTP does where its authority is known.
func TestConnectionsToClickHouseAreEncrypted(t *testing.T) {
	t.Parallel()
	a := testbed.NewAuthority(t)
	a.Sign("server")
	asked := make(chan bool, 100)
	https := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- r.TLS != nil
		w.WriteHeader(http.StatusTeapot)
	}))
	config, err := server.GenTLSConfig(&server.TLSConfigOpts{CertFile: a.Path("server.pem"), KeyFile: a.Path("server-key.pem")})
	must(t, err)
	https.TLS = config
	https.StartTLS()
	defer https.Close()
	dsn := strings.Replace(https.URL, "://", "://reader:hidden@", 1) + "?secure=true"
	_, err = connectDatabase(t.Context(), Endpoint{}, dsn)
	if err == nil || !strings.Contains(err.Error(), "certificate") || len(asked) > 0 {
		t.Errorf("an unknown authority: %v, %d requests", err, len(asked))
	}
	_, err = connectDatabase(t.Context(), Endpoint{Login: Login{CA: a.Path("ca.pem")}}, dsn)
	if err == nil || strings.Contains(err.Error(), "hidden") || len(asked) == 0 || !<-asked {
		t.Errorf("a known authority: %v, %d requests", err, len(asked))
	}
	_, err = connectDatabase(t.Context(), Endpoint{Login: Login{CA: a.Path("server-key.pem")}}, dsn)
	if err == nil || !strings.Contains(err.Error(), "holds no certificate") {
		t.Errorf("a file without certificates: %v", err)
	}
}

// TestNoErrorShowsAPassword gives addresses that cannot be read or reached, with passwords of all kinds.
func TestNoErrorShowsAPassword(t *testing.T) {
	t.Parallel()
	const secret = "Hidden1"
	for _, password := range []string{secret, secret + "/x", "x/" + secret, secret + "@x", secret + "%zz", "%zz" + secret, secret + "?x", "x?" + secret, secret + "#x", "x:" + secret, secret + " x", secret + "\x7f"} {
		for _, address := range []string{"//user:" + password + "@127.0.0.1:1", "//" + password + "@127.0.0.1:1", "//user:" + password + "@127.0.0.1:port", "//user:" + password + "@127.0.0.1:1?secure=maybe"} {
			if strings.HasPrefix(address, "//user:") { // another is a user, who is no secret
				_, err := connectDatabase(t.Context(), Endpoint{}, "http:"+address)
				requireHidden(t, "http:"+address, secret, err)
			}
			_, err := ConnectStream(Endpoint{NATS: "nats:" + address}, time.Now)
			requireHidden(t, "nats:"+address, secret, err)
		}
	}
}

func requireHidden(t *testing.T, address, secret string, err error) {
	t.Helper()
	if err == nil || strings.Contains(err.Error(), secret) {
		t.Errorf("%s: %v, want an error without the password", address, err)
	}
}
