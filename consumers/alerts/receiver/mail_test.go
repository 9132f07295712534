package receiver

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
	"strings"
	"testing"
	"time"

	"github.com/emersion/go-sasl"
	"github.com/emersion/go-smtp"
)

// mailbox is an SMTP server of one user, which keeps what it is sent.
type mailbox struct {
	address  string
	trusting *tls.Config
	letters  chan letter
}

type letter struct {
	encrypted bool
	user      string
	from      string
	to        []string
	text      string
}

func startMailbox(t *testing.T, offersTLS bool) *mailbox { //nolint:revive // flag-parameter: what the server offers
	t.Helper()
	certificate, pool := selfSigned(t)
	m := &mailbox{letters: make(chan letter, 4), trusting: &tls.Config{RootCAs: pool, ServerName: "127.0.0.1", MinVersion: tls.VersionTLS12}}
	s := smtp.NewServer(smtp.BackendFunc(func(c *smtp.Conn) (smtp.Session, error) {
		_, encrypted := c.TLSConnectionState()
		return &session{box: m, letter: letter{encrypted: encrypted}}, nil
	}))
	if offersTLS {
		s.TLSConfig = &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12}
	}
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	m.address = listener.Addr().String()
	done := make(chan error, 1)
	go func() { done <- s.Serve(listener) }()
	t.Cleanup(func() {
		_ = s.Close()
		<-done
	})
	return m
}

func selfSigned(t *testing.T) (tls.Certificate, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, &template, &template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(leaf)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pool
}

type session struct {
	box    *mailbox
	letter letter
}

func (*session) AuthMechanisms() []string { return []string{sasl.Plain} }

func (s *session) Auth(string) (sasl.Server, error) { //nolint:ireturn // as go-smtp has it
	return sasl.NewPlainServer(func(_, user, password string) error {
		if password != "SECRET" {
			return errors.New("wrong password")
		}
		s.letter.user = user
		return nil
	}), nil
}

func (s *session) Mail(from string, _ *smtp.MailOptions) error {
	s.letter.from = from
	return nil
}

func (s *session) Rcpt(to string, _ *smtp.RcptOptions) error {
	s.letter.to = append(s.letter.to, to)
	return nil
}

func (s *session) Data(r io.Reader) error {
	text, err := io.ReadAll(r)
	s.letter.text = string(text)
	s.box.letters <- s.letter
	return err
}

func (*session) Reset()        {}
func (*session) Logout() error { return nil }

func TestAnEMailIsSentBehindTLSWithALogin(t *testing.T) {
	t.Parallel()
	box := startMailbox(t, true)
	m := &Mail{Server: box.address, From: "tensortap@example.com", To: []string{"a@example.com", "b@example.com"}, Username: "tap", Password: "SECRET", Security: StartTLS, TLS: box.trusting}
	n := told()
	n.Group["run"] = "ночь\r\nBcc: c@example.com"
	if err := m.Send(t.Context(), n); err != nil {
		t.Fatal(err)
	}
	got := <-box.letters
	got.text = strings.ReplaceAll(got.text, "=\r\n", "") // lines are folded
	if !got.encrypted || got.user != "tap" || got.from != "tensortap@example.com" || len(got.to) != 2 {
		t.Errorf("%+v", got)
	}
	for _, want := range []string{"Message-ID: <00000000000000aa.1.2.test@tensortap>", "Look: tensortap report ranks", "rank 4 died"} {
		if !strings.Contains(got.text, want) {
			t.Errorf("no %q in\n%s", want, got.text)
		}
	}
	if strings.Contains(got.text, "\nBcc:") {
		t.Errorf("the name of a run became a header:\n%s", got.text)
	}
}

func TestAServerThatIsNotWhatWasAskedForIsRefused(t *testing.T) {
	t.Parallel()
	open, box := startMailbox(t, false), startMailbox(t, true)
	for name, c := range map[string]struct {
		mail Mail
		want string
	}{
		"no STARTTLS":       {Mail{Server: open.address, Security: StartTLS, TLS: open.trusting}, "STARTTLS"},
		"unknown authority": {Mail{Server: box.address, Security: StartTLS}, "certificate"},
		"wrong password":    {Mail{Server: box.address, Security: StartTLS, TLS: box.trusting, Username: "tap", Password: "SECRET2"}, "wrong password"},
		"nobody":            {Mail{Server: "127.0.0.1:1", Security: None}, "connection refused"},
	} {
		c.mail.From, c.mail.To = "a@example.com", []string{"b@example.com"}
		err := c.mail.Send(t.Context(), told())
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "SECRET") {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	if len(box.letters)+len(open.letters) > 0 {
		t.Error("a letter was sent all the same")
	}
}

func TestAServerOfTheSameHostNeedsNoTLS(t *testing.T) {
	t.Parallel()
	box := startMailbox(t, false)
	m := &Mail{Server: box.address, From: "a@example.com", To: []string{"b@example.com"}, Security: None}
	if err := m.Send(t.Context(), told()); err != nil {
		t.Fatal(err)
	}
	if got := <-box.letters; got.encrypted || got.user != "" {
		t.Errorf("%+v", got)
	}
}
