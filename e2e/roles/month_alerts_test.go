package roles

import (
	"encoding/json"
	"fmt"
	"io"
	"mime/quotedprintable"
	"net/http"
	"net/http/httptest"
	"net/mail"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tensortap/tensortap/consumers/alerts/receiver"
	"github.com/tensortap/tensortap/e2e/internal/program"
	"github.com/tensortap/tensortap/internal/dev/receivers"
)

// Names of receivers.
const (
	byCommand      = "command"
	byMail         = "e-mail"
	byAlertmanager = "Alertmanager"
)

// heard is what receivers were told: a command, a mailbox, and who is behind an Alertmanager.
type heard struct {
	t            *testing.T
	folder       string // of what the command is told
	box          *receivers.Mailbox
	alertmanager string

	mutex   sync.Mutex
	posted  []tiding // by the Alertmanager
	letters []tiding
}

func startReceivers(t *testing.T) *heard {
	t.Helper()
	h := &heard{t: t, folder: t.TempDir(), box: receivers.StartMailbox(t, false)}
	hook := httptest.NewServer(http.HandlerFunc(h.post))
	t.Cleanup(hook.Close)
	// Each alert is a group of its own, so that none is told again for the sake of another.
	h.alertmanager = receivers.StartAlertmanager(t, program.TextFile(t, fmt.Sprintf(`route:
  receiver: hook
  group_by: ['...']
  group_wait: 1s
  group_interval: 1s
  repeat_interval: 720h
receivers:
  - name: hook
    webhook_configs: [{url: %q, send_resolved: true}]
`, hook.URL)))
	return h
}

// config is the alert role's. What rules wait for is that of a day of minutes: ranks are silent after a third of it. Of the
// disk of this machine the month knows nothing.
func (h *heard) config(t *testing.T, day time.Duration) string {
	t.Helper()
	silent := max(30*time.Second, day/3)
	return program.TextFile(t, fmt.Sprintf(`every: 5s
receivers:
%s  - name: mail
    email: {server: %q, from: tensortap@example.com, to: [oncall@example.com], security: none}
  - name: alertmanager
    alertmanager: {urls: [%q]}
rules:
  rank-silent: {parameters: {silent_seconds: %.0f}}
  disk: {parameters: {least_free_ratio: 0.001}}
`, h.command(), h.box.Address, h.alertmanager, silent.Seconds()))
}

// command is the receiver of the configuration that keeps what it is told in the folder.
func (h *heard) command() string {
	// A command whose teller is killed reads nothing, and is told again.
	const keeps = `cat > "$1/.$$" && test -s "$1/.$$" && mv "$1/.$$" "$1/$(date +%s%N).json"`
	return fmt.Sprintf("  - name: command\n    command: [sh, -c, '%s', sh, %q]\n", keeps, h.folder)
}

// post takes what the Alertmanager tells.
func (h *heard) post(_ http.ResponseWriter, r *http.Request) {
	var told struct {
		Alerts []struct {
			Status      string
			Labels      map[string]string
			Annotations map[string]string
			StartsAt    string
		}
	}
	if err := json.NewDecoder(r.Body).Decode(&told); err != nil {
		h.t.Errorf("what the Alertmanager posts: %v", err)
		return
	}
	h.mutex.Lock()
	defer h.mutex.Unlock()
	for _, a := range told.Alerts {
		id := a.Annotations["fingerprint"] + " " + a.StartsAt + " " + a.Status
		h.posted = append(h.posted, tiding{byAlertmanager, a.Status, plant{a.Labels["alertname"], a.Labels["run"]}, id, time.Now()})
	}
}

// all is what every receiver was told until now.
func (h *heard) all() []tiding {
	h.t.Helper()
	h.mutex.Lock()
	defer h.mutex.Unlock()
	for more := true; more; {
		select {
		case letter := <-h.box.Letters:
			told, err := tidingsOf(letter)
			if err != nil {
				h.t.Errorf("an e-mail: %v\n%s", err, letter.Text)
			}
			h.letters = append(h.letters, told...)
		default:
			more = false
		}
	}
	all := append(h.commanded(), h.letters...)
	return append(all, h.posted...)
}

// commanded is what the command was told.
func (h *heard) commanded() (all []tiding) {
	h.t.Helper()
	files, err := filepath.Glob(filepath.Join(h.folder, "*.json"))
	if err != nil {
		h.t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		var n receiver.Notification
		if err == nil {
			err = json.Unmarshal(text, &n)
		}
		if err != nil {
			h.t.Fatalf("what the command was told: %v: %s", err, text)
		}
		var ns int64
		_, _ = fmt.Sscan(strings.TrimSuffix(filepath.Base(file), ".json"), &ns)
		for _, a := range n.Alerts {
			all = append(all, tiding{byCommand, a.State, plant{a.Rule, a.Labels["run"]}, fmt.Sprint(a.Fingerprint, " ", a.Change), time.Unix(0, ns)})
		}
	}
	return all
}

var (
	titleOf = regexp.MustCompile(`^\[(?:FIRING|RESOLVED)\] \S+ (\S+)`)
	lineOf  = regexp.MustCompile(`(?m)^(fired|resolved) ([-0-9: ]+ UTC)(?:, fired ([-0-9: ]+ UTC))?: (.*)$`)
	nameOf  = regexp.MustCompile(`\btrain-\d+\b`)
)

// tidingsOf reads an e-mail: its subject has the rule, and a line is an alert.
func tidingsOf(letter receivers.Letter) (all []tiding, err error) {
	message, err := mail.ReadMessage(strings.NewReader(letter.Text))
	if err != nil {
		return nil, err
	}
	body := message.Body
	if message.Header.Get("Content-Transfer-Encoding") == "quoted-printable" {
		body = quotedprintable.NewReader(body)
	}
	text, err := io.ReadAll(body)
	if err != nil {
		return nil, err
	}
	title := titleOf.FindStringSubmatch(message.Header.Get("Subject"))
	lines := lineOf.FindAllStringSubmatch(strings.ReplaceAll(string(text), "\r", ""), -1)
	if title == nil || len(lines) == 0 {
		return nil, fmt.Errorf("subject %q tells of no alert", message.Header.Get("Subject"))
	}
	for _, line := range lines {
		state := map[string]string{"fired": receiver.Firing, "resolved": receiver.Resolved}[line[1]]
		about := plant{title[1], nameOf.FindString(line[4])}
		all = append(all, tiding{byMail, state, about, line[0], letter.Came})
	}
	return all, nil
}

// await waits until all that was planted was told by everybody.
func (h *heard) await(planted []plant, s *staff) {
	h.t.Helper()
	err := program.Await(3*time.Minute, "all planted alerts to be told", func() bool {
		time.Sleep(time.Second)
		s.tend()
		return len(missing(planted, h.all())) == 0
	})
	if err != nil {
		h.t.Errorf("%v: %v", err, missing(planted, h.all()))
	}
}
