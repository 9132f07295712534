package receivers

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"math/big"
	"net"
	"testing"
	"time"

	"github.com/emersion/go-sasl"
	"github.com/emersion/go-smtp"
)

// Mailbox is an SMTP server, which keeps what it is sent.
type Mailbox struct {
	Address  string
	Trusting *tls.Config // of a client that trusts it
	Letters  chan Letter
}

// Letter is an e-mail, and how it came.
type Letter struct {
	Encrypted bool
	User      string
	From      string
	To        []string
	Text      string
	Came      time.Time
}

// Password is that of every user.
const Password = "SECRET"

// mostLetters may lie in a mailbox that nobody empties.
const mostLetters = 1000

// StartMailbox runs one until the test ends.
func StartMailbox(tb testing.TB, offersTLS bool) *Mailbox { //nolint:revive // flag-parameter: what the server offers
	tb.Helper()
	certificate, pool := selfSigned(tb)
	m := &Mailbox{Letters: make(chan Letter, mostLetters), Trusting: &tls.Config{RootCAs: pool, ServerName: "127.0.0.1", MinVersion: tls.VersionTLS12}}
	s := smtp.NewServer(smtp.BackendFunc(func(c *smtp.Conn) (smtp.Session, error) {
		_, encrypted := c.TLSConnectionState()
		return &session{box: m, letter: Letter{Encrypted: encrypted}}, nil
	}))
	if offersTLS {
		s.TLSConfig = &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12}
	}
	listener, err := (&net.ListenConfig{}).Listen(tb.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	m.Address = listener.Addr().String()
	done := make(chan error, 1)
	go func() { done <- s.Serve(listener) }()
	tb.Cleanup(func() {
		_ = s.Close()
		<-done
	})
	return m
}

func selfSigned(tb testing.TB) (tls.Certificate, *x509.CertPool) {
	tb.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		tb.Fatal(err)
	}
	template := x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, &template, &template, &key.PublicKey, key)
	if err != nil {
		tb.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		tb.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(leaf)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pool
}

// session is one connection to a mailbox.
type session struct {
	box    *Mailbox
	letter Letter
}

// AuthMechanisms implements smtp.AuthSession.
func (*session) AuthMechanisms() []string { return []string{sasl.Plain} }

// Auth implements smtp.AuthSession.
func (s *session) Auth(string) (sasl.Server, error) { //nolint:ireturn // as go-smtp has it
	return sasl.NewPlainServer(func(_, user, password string) error {
		if password != Password {
			return errors.New("wrong password")
		}
		s.letter.User = user
		return nil
	}), nil
}

// Mail implements smtp.Session.
func (s *session) Mail(from string, _ *smtp.MailOptions) error {
	s.letter.From = from
	return nil
}

// Rcpt implements smtp.Session.
func (s *session) Rcpt(to string, _ *smtp.RcptOptions) error {
	s.letter.To = append(s.letter.To, to)
	return nil
}

// Data implements smtp.Session.
func (s *session) Data(r io.Reader) error {
	text, err := io.ReadAll(r)
	s.letter.Text, s.letter.Came = string(text), time.Now()
	s.box.Letters <- s.letter
	return err
}

// Reset implements smtp.Session.
func (*session) Reset() {}

// Logout implements smtp.Session.
func (*session) Logout() error { return nil }
