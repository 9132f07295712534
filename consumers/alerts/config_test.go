package alerts

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tensortap/tensortap/consumers/alerts/receiver"
)

// outside has the secrets of the tests.
func outside() Outside {
	return Outside{
		Now: start,
		Getenv: func(name string) string {
			return map[string]string{"SLACK": "https://hooks.example.com/services/T0/SECRET", "NO_URL": "SECRET", "MAIL": "SECRET"}[name]
		},
		ReadFile: func(path string) ([]byte, error) {
			switch path {
			case "slack.secret":
				return []byte("https://hooks.example.com/services/T0/SECRET\n"), nil
			case "mail.secret":
				return []byte("SECRET\n"), nil
			case "empty":
				return []byte("\n"), nil
			}
			return nil, errors.New("open " + path + ": no such file or directory")
		},
	}
}

func TestTheFileOfTheDocumentIsReadAsItSays(t *testing.T) {
	t.Parallel()
	cfg, err := Read("alerts.yaml", []byte(exampleOfTheDocument(t)), outside())
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for i := range cfg.Receivers {
		names = append(names, cfg.Receivers[i].String())
	}
	want := []string{
		"oncall (alertmanager http://alertmanager:9093/api/v2/alerts)", "chat (webhook at https://hooks.example.com)",
		"mail (e-mail to ml-oncall@example.com by mail.example.com:587)", "pager (command /usr/local/bin/page --urgent)",
	}
	if !slices.Equal(names, want) {
		t.Errorf("receivers %q, want %q", names, want)
	}
	if cfg.Every != 30*time.Second || cfg.Labels["cluster"] != "north" {
		t.Errorf("every %s, labels %v", cfg.Every, cfg.Labels)
	}
	rule, err := cfg.Rule("rank-silent")
	if err != nil || rule.For != time.Minute || rule.Severity != "warning" || rule.Parameters["silent_seconds"] != "120" || rule.Extra["team"] != "infra" {
		t.Errorf("rank-silent: %+v, %v", rule, err)
	}
	if _, err := cfg.Rule("straggler"); err == nil || err.Error() != "rule straggler is off in the configuration" {
		t.Errorf("straggler, which is off: %v", err)
	}
	if cfg.Receivers[3].Tells("disk") || !cfg.Receivers[3].Tells("hang") || !cfg.Receivers[0].Tells("disk") {
		t.Error("pager is told of other rules than it names")
	}
}

// exampleOfTheDocument is the first file that docs/alerts.md shows.
func exampleOfTheDocument(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../docs/alerts.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "```yaml\n")
	example, _, _ := strings.Cut(rest, "```")
	return strings.ReplaceAll(strings.ReplaceAll(example, "/run/secrets/slack", "slack.secret"), "/run/secrets/mail", "mail.secret")
}

func TestTheFileBesideAnAlertmanagerIsRead(t *testing.T) {
	t.Parallel()
	const file = "../../deploy/alertmanager/tensortap-alerts.yaml"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if cfg, err := Read(file, text, outside()); err != nil || len(cfg.Receivers) != 1 {
		t.Errorf("%d receivers, %v", len(cfg.Receivers), err)
	}
}

func TestAMistakeIsNamedWithItsLineAndKey(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ text, want string }{
		"key":              {"receiver: []", `a.yaml:1:1: key "receiver" is not known: is "receivers" meant?`},
		"every":            {"every: 10ms", `a.yaml:1:8: want a time of 1s or more, as 15s or 2m, not "10ms"`},
		"rule":             {"rules:\n  rank-silence: {off: true}", `a.yaml:2:3: key "rank-silence" is not known: is "rank-silent" meant?`},
		"severity":         {"rules:\n  disk: {severity: bad}", `a.yaml:2:20: severity "bad": want one of info, warning, critical`},
		"parameter":        {"rules:\n  disk: {parameters: {least_free: 1}}", `a.yaml:2:23: key "least_free" is not known`},
		"own parameter":    {"rules:\n  rank-silent: {parameters: {now_ns: 1}}", `a.yaml:2:30: key "now_ns" is not known`},
		"no number":        {"rules:\n  disk: {parameters: {least_free_ratio: much}}", `want a number`},
		"no whole number":  {"rules:\n  hang: {parameters: {waiting_seconds: 1.5}}", `want a whole number from 0 on, not "1.5"`},
		"label":            {"labels: {severity: x}", `a.yaml:1:10: label "severity" is taken: every alert has it`},
		"label's name":     {"labels: {a-b: x}", `"a-b" does not match`},
		"no name":          {"receivers:\n  - command: [true]", `a.yaml:2:5: a receiver needs a name`},
		"name":             {"receivers:\n  - {name: a.b, command: [page]}", `a.yaml:2:12: "a.b" does not match`},
		"twice":            {"receivers:\n  - {name: a, command: [page]}\n  - {name: a, command: [page]}", `a.yaml:3:5: a second receiver is named "a"`},
		"no kind":          {"receivers:\n  - {name: a}", `a.yaml:2:5: receiver a needs one of alertmanager, slack, email, command`},
		"two kinds":        {"receivers:\n  - {name: a, command: [page], slack: {url_env: SLACK}}", `receiver a has two kinds`},
		"unknown rules":    {"receivers:\n  - {name: a, rules: [hangs], command: [page]}", `no alert rule is named "hangs", there are: baseline-verdict`},
		"no command":       {"receivers:\n  - {name: a, command: []}", `want the program and its arguments`},
		"inline password":  {"receivers:\n  - {name: a, email: {server: 'm:25', from: a@b.c, to: a@b.c, password: SECRET}}", `key "password" is not known; known are server, from, to, username, password_file`},
		"inline url":       {"receivers:\n  - {name: a, slack: {url: https://SECRET}}", `key "url" is not known`},
		"server":           {"receivers:\n  - {name: a, email: {server: m, from: a@b.c, to: a@b.c}}", `a.yaml:2:31: want host:port, as mail.example.com:587, not "m"`},
		"to":               {"receivers:\n  - {name: a, email: {server: 'm:25', from: a@b.c, to: [nobody]}}", `"nobody" is no e-mail address`},
		"from":             {"receivers:\n  - {name: a, email: {server: 'm:25', to: [a@b.c]}}", `e-mail needs from`},
		"security":         {"receivers:\n  - {name: a, email: {server: 'm:25', from: a@b.c, to: a@b.c, security: tls}}", `want starttls, implicit or none, not "tls"`},
		"lone user":        {"receivers:\n  - {name: a, email: {server: 'm:25', from: a@b.c, to: a@b.c, username: u}}", `a username needs password_file or password_env`},
		"two passwords":    {"receivers:\n  - {name: a, email: {server: 'm:25', from: a@b.c, to: a@b.c, username: u, password_file: mail.secret, password_env: MAIL}}", `password_file is given, too`},
		"missing file":     {"receivers:\n  - {name: a, slack: {url_file: nowhere}}", `a.yaml:2:33: open nowhere: no such file or directory`},
		"empty file":       {"receivers:\n  - {name: a, slack: {url_file: empty}}", `file empty is empty`},
		"missing variable": {"receivers:\n  - {name: a, slack: {url_env: UNSET}}", `environment variable UNSET is not set`},
		"no address":       {"receivers:\n  - {name: a, slack: {url_env: NO_URL}}", `want an address that begins with http:// or https://`},
		"no urls":          {"receivers:\n  - {name: a, alertmanager: {username: u}}", `an Alertmanager needs urls`},
		"empty":            {"", `a.yaml: the file is empty`},
	} {
		_, err := Read("a.yaml", []byte(c.text), outside())
		if err == nil || !strings.Contains(err.Error(), c.want) || (name != "inline password" && strings.Contains(err.Error(), "SECRET")) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

func TestWhatIsShownOfAReceiverHasNoSecret(t *testing.T) {
	t.Parallel()
	for _, r := range []Receiver{
		&receiver.Slack{URL: "https://user:SECRET@hooks.example.com/services/SECRET"},
		&receiver.Alertmanager{URLs: []string{"http://user:SECRET@am:9093/SECRET"}, Login: receiver.Login{Token: "SECRET"}, Now: start},
		&receiver.Mail{Server: "m:25", From: "a@b.c", To: []string{"d@e.f"}, Username: "u", Password: "SECRET"},
	} {
		cfg, _ := DefaultConfig()
		rule, err := cfg.Rule("first-nan")
		if err != nil {
			t.Fatal(err)
		}
		target := Target{Name: "a", Receiver: r}
		text, err := r.Preview(target.Notifications(rule, []receiver.Alert{cfg.Example(rule, start())})[0])
		if err != nil || strings.Contains(text+r.Where(), "SECRET") || !strings.Contains(text, "run nightly holds NaN since step 120") {
			t.Errorf("%s: %v\n%s", r.Where(), err, text)
		}
	}
}
