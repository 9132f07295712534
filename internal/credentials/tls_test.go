package credentials_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tensortap/tensortap/internal/dev/testbed"
	"github.com/tensortap/tensortap/internal/system"
)

// TestEachConfigurationOfNATSLetsEachRoleIn has the real server load each file that is deployed, and a client of each role connect
// as the commands do with --creds and --tls-ca.
func TestEachConfigurationOfNATSLetsEachRoleIn(t *testing.T) {
	t.Parallel()
	names := configurations(t)
	for i := range names {
		names[i] = filepath.Base(names[i])
	}
	if want := []string{"nats.conf", "tls.conf"}; !slices.Equal(names, want) {
		t.Errorf("deploy/nats has %v, want %v", names, want)
	}
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			signs := testbed.NewAuthority(t)
			signs.Sign("server")
			f := startWith(t, name, signs)
			encrypted := strings.Contains(name, "tls")
			for _, role := range everybody() {
				f.letsIn(t, role, signs, encrypted)
			}
			f.keepsOut(t, signs, encrypted)
		})
	}
}

func (f *fleet) letsIn(t *testing.T, role string, signs *testbed.Authority, encrypted bool) { //nolint:revive // flag-parameter: what is wanted
	t.Helper()
	login := system.Login{Creds: f.seed(role)}
	if encrypted {
		login.CA = signs.Path("ca.pem")
	}
	client, err := system.ConnectStream(system.Endpoint{NATS: f.url, Login: login}, time.Now)
	if err != nil {
		t.Errorf("%s: %v", role, err)
		return
	}
	defer client.Close()
	connection := client.JetStream().Conn()
	if err := connection.Flush(); err != nil || connection.TLSRequired() != encrypted {
		t.Errorf("%s: encrypted %v, %v", role, connection.TLSRequired(), err)
	}
}

// keepsOut tries what a client may have wrong.
func (f *fleet) keepsOut(t *testing.T, signs *testbed.Authority, encrypted bool) { //nolint:revive // flag-parameter: what is wanted
	t.Helper()
	wrong := map[string]system.Login{"secure connection not available": {Creds: f.seed("judge"), CA: signs.Path("ca.pem")}, "Authorization": {}}
	if encrypted {
		wrong = map[string]system.Login{"unknown authority": {Creds: f.seed("judge")}, "Authorization": {CA: signs.Path("ca.pem")}}
	}
	for want, login := range wrong {
		client, err := system.ConnectStream(system.Endpoint{NATS: f.url, Login: login}, time.Now)
		if err == nil {
			client.Close()
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
