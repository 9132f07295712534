package system

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// authority signs certificates of a test.
type authority struct {
	tb     testing.TB
	folder string
	own    *x509.Certificate
	key    *ecdsa.PrivateKey
}

func newAuthority(tb testing.TB) *authority {
	tb.Helper()
	a := &authority{tb: tb, folder: tb.TempDir()}
	own := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	a.key, a.own = a.newKey(), own
	a.own.NotBefore, a.own.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	a.write("ca", own, a.key)
	return a
}

func (a *authority) must(err error) {
	a.tb.Helper()
	if err != nil {
		a.tb.Fatal(err)
	}
}

func (a *authority) newKey() *ecdsa.PrivateKey {
	a.tb.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	a.must(err)
	return key
}

// sign writes a certificate for 127.0.0.1 and its key.
func (a *authority) sign(name string) {
	a.tb.Helper()
	a.write(name, &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: name}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: a.own.NotBefore, NotAfter: a.own.NotAfter, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}, a.newKey())
}

func (a *authority) write(name string, c *x509.Certificate, key *ecdsa.PrivateKey) {
	a.tb.Helper()
	signed, err := x509.CreateCertificate(rand.Reader, c, a.own, &key.PublicKey, a.key)
	a.must(err)
	secret, err := x509.MarshalECPrivateKey(key)
	a.must(err)
	a.must(os.WriteFile(a.path(name+".pem"), pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: signed}), 0o600))
	a.must(os.WriteFile(a.path(name+"-key.pem"), pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: secret}), 0o600))
}

func (a *authority) path(name string) string { return filepath.Join(a.folder, name) }

// encrypted is a NATS server that wants a certificate of its clients.
func encrypted(tb testing.TB, a *authority) string {
	tb.Helper()
	config, err := server.GenTLSConfig(&server.TLSConfigOpts{
		CertFile: a.path("server.pem"), KeyFile: a.path("server-key.pem"), CaFile: a.path("ca.pem"), Verify: true, Timeout: 30,
	})
	a.must(err)
	nats, err := server.NewServer(&server.Options{
		Host: "127.0.0.1", Port: -1, JetStream: true, StoreDir: tb.TempDir(), NoSigs: true, NoLog: true, TLSConfig: config, TLSVerify: true, TLS: true, TLSTimeout: 30,
	})
	a.must(err)
	nats.Start()
	tb.Cleanup(func() { nats.Shutdown(); nats.WaitForShutdown() })
	if !nats.ReadyForConnections(time.Minute) {
		tb.Fatal("the server is not ready after a minute")
	}
	return "tls://" + nats.Addr().String()
}

func TestConnectionsToNATSAreEncryptedAndBothSidesKnown(t *testing.T) {
	t.Parallel()
	a, strange := newAuthority(t), newAuthority(t)
	a.sign("server")
	a.sign("client")
	strange.sign("client")
	url := encrypted(t, a)
	known := Login{CA: a.path("ca.pem"), Cert: a.path("client.pem"), Key: a.path("client-key.pem")}
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
		"certificate":              {CA: a.path("ca.pem")},
		"unknown certificate":      {CA: a.path("ca.pem"), Cert: strange.path("client.pem"), Key: strange.path("client-key.pem")},
		"--tls-cert and --tls-key": {CA: a.path("ca.pem"), Cert: a.path("client.pem")},
		"no such file":             {CA: a.path("nowhere.pem")},
		"holds no seed":            {Creds: a.path("ca.pem")},
		"read the credentials":     {Creds: a.path("nowhere.nk")},
	}
	for want, login := range refusals {
		client, err := ConnectStream(Endpoint{NATS: url, Login: login}, time.Now)
		if err == nil {
			client.Close()
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", login, err, want)
		}
	}
}

// TestConnectionsToClickHouseAreEncrypted has a server that answers as ClickHouse's HTTP does where its authority is known.
func TestConnectionsToClickHouseAreEncrypted(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	a.sign("server")
	asked := make(chan bool, 100)
	https := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- r.TLS != nil
		w.WriteHeader(http.StatusTeapot)
	}))
	config, err := server.GenTLSConfig(&server.TLSConfigOpts{CertFile: a.path("server.pem"), KeyFile: a.path("server-key.pem")})
	a.must(err)
	https.TLS = config
	https.StartTLS()
	defer https.Close()
	dsn := strings.Replace(https.URL, "://", "://reader:hidden@", 1) + "?secure=true"
	_, err = connectDatabase(t.Context(), Endpoint{}, dsn)
	if err == nil || !strings.Contains(err.Error(), "certificate") || len(asked) > 0 {
		t.Errorf("an unknown authority: %v, %d requests", err, len(asked))
	}
	_, err = connectDatabase(t.Context(), Endpoint{Login: Login{CA: a.path("ca.pem")}}, dsn)
	if err == nil || strings.Contains(err.Error(), "hidden") || len(asked) == 0 || !<-asked {
		t.Errorf("a known authority: %v, %d requests", err, len(asked))
	}
	_, err = connectDatabase(t.Context(), Endpoint{Login: Login{CA: a.path("server-key.pem")}}, dsn)
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
