package receiver

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// told is a notification of two alerts, one of them resolved, with text that receivers could take for commands.
func told() Notification {
	fired := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	return Notification{
		Receiver: "test", Rule: "rank-silent", Severity: "critical", Group: map[string]string{"run": "nightly <!here>"},
		Alerts: []Alert{
			{
				Fingerprint: "00000000000000aa", Change: 1, State: Firing, Rule: "rank-silent", Severity: "critical", Labels: map[string]string{"run": "nightly <!here>", "rank": "3"},
				Summary: "rank 3 of run nightly <!here> died & is gone", Command: "tensortap report ranks --run 'nightly <!here>'", Fired: fired,
			},
			{
				Fingerprint: "00000000000000bb", Change: 2, State: Resolved, Rule: "rank-silent", Severity: "critical", Labels: map[string]string{"run": "nightly <!here>", "rank": "4"},
				Summary: "rank 4 died", Command: "tensortap report ranks", Fired: fired, Resolved: fired.Add(time.Minute),
			},
		},
	}
}

// webhook answers with a status, and keeps what it is sent.
func webhook(t *testing.T, status int) (url string, got func() (*http.Request, string)) {
	t.Helper()
	var request *http.Request
	var body string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		all, _ := io.ReadAll(r.Body)
		request, body = r, string(all)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, "invalid_payload")
	}))
	t.Cleanup(s.Close)
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	return s.URL, func() (*http.Request, string) { return request, body }
}

func TestSlackIsPostedTextThatItDoesNotTakeForCommands(t *testing.T) {
	t.Parallel()
	url, got := webhook(t, http.StatusOK)
	if err := (&Slack{URL: url + "/services/T0/B0"}).Send(t.Context(), told()); err != nil {
		t.Fatal(err)
	}
	request, body := got()
	var message slackMessage
	if err := json.Unmarshal([]byte(body), &message); err != nil || request.URL.Path != "/services/T0/B0" {
		t.Fatalf("%v, path %s\n%s", err, request.URL.Path, body)
	}
	if message.Text != "*[FIRING] critical rank-silent run=nightly &lt;!here&gt;*" || len(message.Attachments) != 2 ||
		message.Attachments[0].Color != "danger" || message.Attachments[1].Color != "good" ||
		!strings.Contains(message.Attachments[0].Text, "died &amp; is gone\n`tensortap report ranks --run 'nightly &lt;!here&gt;'`") ||
		!strings.Contains(message.Attachments[1].Text, "resolved 2026-03-01 12:01:00 UTC, fired 2026-03-01 12:00:00 UTC: rank 4 died") {
		t.Errorf("%+v", message)
	}
}

func TestAWebhookThatRefusesIsAnErrorWithoutItsSecret(t *testing.T) {
	t.Parallel()
	url, _ := webhook(t, http.StatusForbidden)
	err := (&Slack{URL: url + "/services/SECRET"}).Send(t.Context(), told())
	if err == nil || !strings.Contains(err.Error(), "answers 403 Forbidden: invalid_payload") || strings.Contains(err.Error(), "SECRET") {
		t.Errorf("refused: %v", err)
	}
	err = (&Slack{URL: "http://user:SECRET@127.0.0.1:1/SECRET"}).Send(t.Context(), told())
	if err == nil || !strings.Contains(err.Error(), "connection refused") || strings.Contains(err.Error(), "SECRET") {
		t.Errorf("nobody listens: %v", err)
	}
}

func TestOfSeveralAlertmanagersOneHasToTakeIt(t *testing.T) {
	t.Parallel()
	url, got := webhook(t, http.StatusOK)
	now := told().Alerts[0].Fired.Add(time.Hour)
	m := &Alertmanager{URLs: []string{"http://127.0.0.1:1", url + "/"}, Login: Login{Username: "u", Password: "p"}, Now: func() time.Time { return now }}
	if err := m.Send(t.Context(), told()); err != nil {
		t.Fatal(err)
	}
	request, body := got()
	user, password, _ := request.BasicAuth()
	if request.URL.Path != "/api/v2/alerts" || user != "u" || password != "p" || !strings.Contains(body, `"endsAt": "2026-03-01T13:05:00Z"`) || !strings.Contains(body, `"endsAt": "2026-03-01T12:01:00Z"`) {
		t.Errorf("path %s, user %s\n%s", request.URL.Path, user, body)
	}
	m.URLs = m.URLs[:1]
	if err := m.Send(t.Context(), told()); err == nil || !strings.Contains(err.Error(), "alertmanager http://127.0.0.1:1: ") {
		t.Errorf("none listens: %v", err)
	}
}

func TestACommandReadsTheNotification(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "told")
	if err := (&Command{Args: []string{"sh", "-c", `cat > "$1"`, "sh", file}}).Send(t.Context(), told()); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	var got Notification
	if err != nil || json.Unmarshal(text, &got) != nil || len(got.Alerts) != 2 || got.Alerts[0].Labels["run"] != "nightly <!here>" || !got.Alerts[1].Resolved.After(got.Alerts[1].Fired) {
		t.Errorf("%v\n%s", err, text)
	}
}

func TestACommandThatFailsSaysWhy(t *testing.T) {
	t.Parallel()
	err := (&Command{Args: []string{"sh", "-c", "echo no pager >&2; exit 3"}}).Send(t.Context(), told())
	if err == nil || err.Error() != "command sh: exit status 3: no pager" {
		t.Errorf("%v", err)
	}
	if err := (&Command{Args: []string{"/no/such/program"}}).Send(t.Context(), told()); err == nil || !strings.Contains(err.Error(), "no such file") {
		t.Errorf("no program: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := (&Command{Args: []string{"sleep", "60"}}).Send(ctx, told()); err == nil {
		t.Error("it went on after its context ended")
	}
}

func TestATextForPeopleNamesTheFirstAlertsAndCountsTheRest(t *testing.T) {
	t.Parallel()
	n := told()
	for len(n.Alerts) < mostLines+7 {
		n.Alerts = append(n.Alerts, n.Alerts[0])
	}
	slack, _ := (&Slack{}).Preview(n)
	mail := mailText(&n)
	if !strings.Contains(slack, "and 7 more") || !strings.Contains(mail, "and 7 more") || strings.Count(mail, "Look: ") != mostLines {
		t.Errorf("%s\n%s", slack, mail)
	}
}
