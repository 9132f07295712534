package system

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"
)

// Login says who this program is to servers elsewhere, and whom it takes for them. Each is the path of a file, or empty.
// What a folder's own system embeds has logins of its own.
type Login struct {
	Creds string // of a NATS user: JWT and seed, or the seed of an nkey alone
	CA    string // certificates of the authorities of NATS and ClickHouse, PEM; the machine's where it is empty
	Cert  string // certificate of this program, PEM
	Key   string // its key, PEM
}

// NATS is the login as the library takes it.
func (l Login) NATS() ([]nats.Option, error) {
	options, err := l.user()
	if err != nil {
		return nil, err
	}
	if l.CA != "" {
		options = append(options, nats.RootCAs(l.CA))
	}
	if err := l.checkPair(); err != nil {
		return nil, err
	}
	if l.Cert != "" {
		options = append(options, nats.ClientCert(l.Cert, l.Key))
	}
	return options, nil
}

// user says who connects. Answers come to a place that is named after the user, so that a server can keep other users out of it.
func (l Login) user() ([]nats.Option, error) {
	if l.Creds == "" {
		return nil, nil
	}
	text, err := os.ReadFile(l.Creds)
	if err != nil {
		return nil, fmt.Errorf("read the credentials for NATS: %w", err)
	}
	public, err := publicKey(text)
	if err != nil {
		return nil, fmt.Errorf("read the credentials for NATS: %s holds no seed of a user: want a file of `tensortap credentials`, or a .creds file", l.Creds)
	}
	options := []nats.Option{nats.CustomInboxPrefix("_INBOX." + public)}
	if bytes.Contains(text, []byte("BEGIN NATS USER JWT")) {
		return append(options, nats.UserCredentials(l.Creds)), nil
	}
	seed, err := nats.NkeyOptionFromSeed(l.Creds)
	if err != nil {
		return nil, fmt.Errorf("read the credentials for NATS, %s: %w", l.Creds, err)
	}
	return append(options, seed), nil
}

// publicKey is the name by which NATS knows the user of that seed.
func publicKey(text []byte) (string, error) {
	pair, err := nkeys.ParseDecoratedNKey(text)
	if err != nil {
		return "", err
	}
	defer pair.Wipe()
	public, err := pair.PublicKey()
	if err == nil && !nkeys.IsValidPublicUserKey(public) {
		err = errors.New("the seed is not a user's")
	}
	return public, err
}

func (l Login) checkPair() error {
	if (l.Cert == "") != (l.Key == "") {
		return errors.New("a certificate goes with its key: give --tls-cert and --tls-key, or neither")
	}
	return nil
}

// clickhouse adds authorities and certificate to a connection that its DSN encrypts.
func (l Login) clickhouse(options *clickhouse.Options) error {
	if options.TLS == nil {
		return nil
	}
	if err := l.checkPair(); err != nil {
		return err
	}
	if l.CA != "" {
		text, err := os.ReadFile(l.CA)
		if err != nil {
			return fmt.Errorf("read the authorities of --tls-ca: %w", err)
		}
		options.TLS.RootCAs = x509.NewCertPool()
		if !options.TLS.RootCAs.AppendCertsFromPEM(text) {
			return fmt.Errorf("read the authorities of --tls-ca: %s holds no certificate", l.CA)
		}
	}
	if l.Cert == "" {
		return nil
	}
	pair, err := tls.LoadX509KeyPair(l.Cert, l.Key)
	if err != nil {
		return fmt.Errorf("read the certificate of --tls-cert: %w", err)
	}
	options.TLS.Certificates = []tls.Certificate{pair}
	return nil
}

var errUnreadable = errors.New("it cannot be read as an address; in a user or password write / as %2F, @ as %40, : as %3A, ? as %3F, # as %23 and % as %25")

// unquoted is the error of reading an address, which must not quote it: a password may stand in it.
func unquoted(err error) error {
	if quoting := (*url.Error)(nil); errors.As(err, &quoting) {
		return errUnreadable
	}
	return err
}

// checkAddress refuses an address, or one of several with commas between them, whose password would be taken for a host.
func checkAddress(address string) error {
	for one := range strings.SplitSeq(address, ",") {
		_, rest, _ := strings.Cut(one, "://")
		if end := strings.IndexAny(rest, "/?#"); end >= 0 && strings.Contains(rest[end:], "@") {
			return errUnreadable
		}
	}
	return nil
}
