package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/pflag"
)

// loginFlags are those of servers elsewhere.
func (a *app) loginFlags(f *pflag.FlagSet) {
	f.StringVar(&a.login.Creds, "creds", "", "file of this NATS user's credentials: one of tensortap credentials, or a .creds file (also TENSORTAP_CREDS)")
	f.StringVar(&a.login.CA, "tls-ca", "", "file of the authorities whose NATS and ClickHouse servers are trusted, PEM (also TENSORTAP_TLS_CA)")
	f.StringVar(&a.login.Cert, "tls-cert", "", "file of this program's certificate, PEM (also TENSORTAP_TLS_CERT)")
	f.StringVar(&a.login.Key, "tls-key", "", "file of the key of --tls-cert, PEM (also TENSORTAP_TLS_KEY)")
}

// loginOfEnvironment takes files that no flag names.
func (a *app) loginOfEnvironment() {
	for _, v := range []struct {
		to   *string
		name string
	}{
		{&a.login.Creds, "TENSORTAP_CREDS"},
		{&a.login.CA, "TENSORTAP_TLS_CA"},
		{&a.login.Cert, "TENSORTAP_TLS_CERT"},
		{&a.login.Key, "TENSORTAP_TLS_KEY"},
	} {
		if *v.to == "" {
			*v.to = a.getenv(v.name)
		}
	}
}

// serversOfFiles takes addresses that neither a flag nor a variable has: a file is read by fewer than the environment of a container.
func (a *app) serversOfFiles() error {
	for _, v := range []struct {
		to   *string
		name string
	}{{&a.nats, "TENSORTAP_NATS_FILE"}, {&a.clickhouse, "TENSORTAP_CLICKHOUSE_FILE"}} {
		path := a.getenv(v.name)
		if *v.to != "" || path == "" {
			continue
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return fmt.Errorf("read the address of %s: %w", v.name, err)
		}
		if *v.to = strings.TrimSpace(string(text)); *v.to == "" {
			return fmt.Errorf("read the address of %s: %s is empty", v.name, path)
		}
	}
	return nil
}
