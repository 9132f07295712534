package credentials_test

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/tensortap/tensortap/internal/credentials"
	"github.com/tensortap/tensortap/internal/system"
	"github.com/tensortap/tensortap/pipelines"
	"github.com/tensortap/tensortap/schemas"
)

const (
	own   = "tap.tensor.OWN.0"
	other = "tap.tensor.0123456789abcdef.0"
)

// publishing is each thing that a role could say, and which roles may.
func publishing() map[string][]string {
	all := everybody()
	writers := []string{"consume", "agent"}
	return map[string][]string{
		own:                                                       {"consume", "agent", "producer"},
		other:                                                     writers,
		"tap.op.0123456789abcdef.3":                               writers,
		"tap.verdict.OWN.0":                                       {"consume", "judge", "serve", "operator"},
		"tap.baseline.0123456789abcdef.0":                         {"consume", "operator"},
		"tap.alert.0000000000000000.0":                            {"consume", "alert"},
		"tap.alert.OWN.4294967295":                                {"consume", "alert"},
		"tap.audit.0000000000000000.4294967295":                   {"consume", "operator"},
		"tap.audit.OWN.0":                                         {"consume"},
		"tap.dead_letter.0000000000000000.0":                      {"consume", "judge", "alert", "serve", "agent", "operator"},
		"tap.dead_letter.OWN.0":                                   {"consume", "judge", "alert", "serve", "agent", "producer", "operator"},
		"dead.publisher":                                          {"consume", "judge", "alert", "serve", "agent", "producer", "operator"},
		"dead.clickhouse":                                         {"consume"},
		"tensortap.control.OWN":                                   {"operator"},
		"tensortap.heal":                                          {"operator"},
		"tensortap.measure":                                       {"operator"},
		"$KV.tap_sources.OWN.0":                                   {"consume", "agent", "producer"},
		"$KV.tap_sources.beside.OWN.0.1":                          {"consume", "agent", "producer"},
		"$KV.tap_sources.0123456789abcdef.0":                      writers,
		"$KV.tap_leases.work":                                     {"consume", "judge", "alert"},
		"$KV.tap_alerts.silence.1":                                {"alert", "operator"},
		"$JS.API.STREAM.PURGE.KV_tap_leases":                      {"consume", "judge", "alert"},
		"$KV.tap_alerts.told.1":                                   {"alert"},
		"$JS.API.STREAM.INFO.TAP":                                 all,
		"$JS.API.CONSUMER.INFO.TAP.clickhouse":                    {"consume", "judge", "alert", "serve", "reader", "operator"},
		"$JS.API.CONSUMER.MSG.NEXT.TAP.clickhouse":                {"consume"},
		"$JS.API.CONSUMER.CREATE.TAP.mine":                        {"consume"},
		"$JS.API.CONSUMER.CREATE.KV_tap_sources.mine":             {"consume", "judge", "serve", "reader", "operator"},
		"$JS.API.CONSUMER.DELETE.TAP.nobody":                      {"consume"},
		"$JS.API.CONSUMER.RESET.TAP.nobody":                       {"consume"},
		"$JS.API.STREAM.MSG.GET.TAP":                              {"consume", "alert", "serve", "operator"},
		"$JS.API.STREAM.CREATE.KV_tap_alerts":                     {"alert", "operator"},
		"$JS.API.STREAM.MSG.GET.KV_tap_sources":                   nil,
		"$JS.API.DIRECT.GET.KV_tap_sources.$KV.tap_sources.OWN.0": {"consume", "agent", "producer", "operator", "judge", "serve", "reader"},
		"$JS.API.DIRECT.GET.KV_tap_sources.$KV.tap_sources.0123456789abcdef.0": {"consume", "agent", "operator", "judge", "serve", "reader"},
		"$JS.API.STREAM.CREATE.TAP":                       {"consume"},
		"$JS.API.STREAM.UPDATE.TAP":                       {"consume"},
		"$JS.API.STREAM.CREATE.ANOTHER":                   nil,
		"$JS.API.STREAM.DELETE.TAP":                       nil,
		"$JS.API.STREAM.PURGE.TAP":                        {"consume"},
		"$JS.API.STREAM.PURGE.KV_tap_runs":                nil,
		"$JS.API.CONSUMER.LIST.TAP":                       {"consume", "alert", "serve", "operator"},
		"$KV.tap_runs.OWN":                                {"consume", "operator"},
		"$JS.API.DIRECT.GET.KV_tap_runs.$KV.tap_runs.OWN": {"consume", "alert", "agent", "producer", "operator"},
		"$JS.API.STREAM.MSG.DELETE.TAP":                   nil,
		"$JS.API.STREAM.SNAPSHOT.TAP":                     nil,
		"$JS.API.DIRECT.GET.KV_tap_runs":                  {"agent"},
		"$JS.API.CONSUMER.CREATE.KV_tap_runs.mine":        {"judge", "alert", "serve", "reader", "consume", "operator"},
		"$JS.ACK.TAP.clickhouse.1.1.1.1.0":                {"consume"},
		"_INBOX.somebody.1":                               nil,
		"anything":                                        nil,
	}
}

// hearing is each thing that a role could listen to, and which roles may.
func hearing() map[string][]string {
	return map[string][]string{
		"tap.>": nil, ">": nil, "dead.>": nil, "$KV.>": nil, "$JS.>": nil, "_INBOX.>": nil, "_INBOX.somebody.*": nil,
		own:                   nil,
		"tensortap.control.*": {"agent"}, "tensortap.control.OWN": {"agent", "producer"},
		"tensortap.control.0123456789abcdef": {"agent"}, // who hears a request can answer it
		"tensortap.heal":                     {"consume"},
		"tensortap.measure":                  {"consume"},
		"tensortap.>":                        nil,
	}
}

func ofOwnRun(subject string) string {
	return strings.ReplaceAll(subject, "OWN", schemas.FormatID(schemas.RunID(ownRun)))
}

func TestEachRoleMayDoWhatItNeedsAndNothingElse(t *testing.T) {
	t.Parallel()
	f := startFleet(t)
	for _, role := range everybody() {
		for subject, who := range publishing() {
			subject = ofOwnRun(subject)
			p := f.as(t, role)
			must(t, p.Publish(subject, nil))
			if may, want := !p.wasRefused(t, subject), slices.Contains(who, role); may != want {
				t.Errorf("%s publishes %s: allowed %v, want %v", role, subject, may, want)
			}
			p.Close()
		}
		for subject, who := range hearing() {
			subject = ofOwnRun(subject)
			p := f.as(t, role)
			_, err := p.SubscribeSync(subject)
			must(t, err)
			if may, want := !p.wasRefused(t, subject), slices.Contains(who, role); may != want {
				t.Errorf("%s listens to %s: allowed %v, want %v", role, subject, may, want)
			}
			p.Close()
		}
	}
}

func TestWhoIsNotListedIsRefused(t *testing.T) {
	t.Parallel()
	f := startFleet(t)
	stranger := t.TempDir()
	_, err := credentials.Make(credentials.Request{Folder: stranger, Database: "clickhouse:8123"})
	must(t, err)
	options, err := system.Login{Creds: filepath.Join(stranger, "admin.nk")}.NATS()
	must(t, err)
	for name, with := range map[string][]nats.Option{"nobody": nil, "a user of another fleet": options, "a password": {nats.UserInfo("admin", "admin")}} {
		if conn, err := nats.Connect(f.url, append(with, nats.Timeout(time.Minute))...); !errors.Is(err, nats.ErrAuthorization) {
			t.Errorf("%s: %v, want %v", name, err, nats.ErrAuthorization)
			conn.Close()
		}
	}
}

// TestAnAnswerOfNATSIsStoredWhereItsAskerMayNotWrite keeps docs/security.md true: what it says there is weaker, no right mends.
func TestAnAnswerOfNATSIsStoredWhereItsAskerMayNotWrite(t *testing.T) {
	t.Parallel()
	f := startFleet(t)
	_, err := pipelines.OpenFates(t.Context(), f.as(t, "consume").js)
	must(t, err)
	key := "$KV." + pipelines.FateBucket + ".0123456789abcdef"
	reader := f.as(t, "reader")
	must(t, reader.PublishRequest("$JS.API.STREAM.INFO."+pipelines.StreamName, key, nil))
	must(t, reader.FlushTimeout(time.Minute))
	bucket, err := f.as(t, "admin").js.KeyValue(t.Context(), pipelines.FateBucket)
	must(t, err)
	watcher, err := bucket.WatchAll(t.Context())
	must(t, err)
	defer func() { must(t, watcher.Stop()) }()
	for {
		select {
		case entry := <-watcher.Updates():
			if entry != nil {
				return
			}
		case <-time.After(time.Minute):
			t.Fatal("NATS stored nothing: docs/security.md says that it does")
		}
	}
}
