package testbed

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// Authority signs certificates of a test.
type Authority struct {
	tb     testing.TB
	folder string
	own    *x509.Certificate
	key    *ecdsa.PrivateKey
}

// NewAuthority makes one with its own certificate, ca.pem.
func NewAuthority(tb testing.TB) *Authority {
	tb.Helper()
	a := &Authority{tb: tb, folder: tb.TempDir()}
	own := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	a.key, a.own = a.newKey(), own
	a.own.NotBefore, a.own.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	a.write("ca", own, a.key)
	return a
}

func (a *Authority) must(err error) {
	a.tb.Helper()
	if err != nil {
		a.tb.Fatal(err)
	}
}

func (a *Authority) newKey() *ecdsa.PrivateKey {
	a.tb.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	a.must(err)
	return key
}

// Sign writes a certificate for 127.0.0.1 and its key.
func (a *Authority) Sign(name string) {
	a.tb.Helper()
	a.write(name, &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: name}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: a.own.NotBefore, NotAfter: a.own.NotAfter, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}, a.newKey())
}

func (a *Authority) write(name string, c *x509.Certificate, key *ecdsa.PrivateKey) {
	a.tb.Helper()
	signed, err := x509.CreateCertificate(rand.Reader, c, a.own, &key.PublicKey, a.key)
	a.must(err)
	secret, err := x509.MarshalECPrivateKey(key)
	a.must(err)
	a.must(os.WriteFile(a.Path(name+".pem"), pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: signed}), 0o600))
	a.must(os.WriteFile(a.Path(name+"-key.pem"), pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: secret}), 0o600))
}

// Path is where a file of that name is.
func (a *Authority) Path(name string) string { return filepath.Join(a.folder, name) }
