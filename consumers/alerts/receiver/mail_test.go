package receiver

import (
	"strings"
	"testing"

	"github.com/tensortap/tensortap/internal/dev/receivers"
)

func TestAnEMailIsSentBehindTLSWithALogin(t *testing.T) {
	t.Parallel()
	box := receivers.StartMailbox(t, true)
	m := &Mail{Server: box.Address, From: "tensortap@example.com", To: []string{"a@example.com", "b@example.com"}, Username: "tap", Password: "SECRET", Security: StartTLS, TLS: box.Trusting}
	n := told()
	n.Group["run"] = "ночь\r\nBcc: c@example.com"
	if err := m.Send(t.Context(), n); err != nil {
		t.Fatal(err)
	}
	got := <-box.Letters
	got.Text = strings.ReplaceAll(got.Text, "=\r\n", "") // lines are folded
	if !got.Encrypted || got.User != "tap" || got.From != "tensortap@example.com" || len(got.To) != 2 {
		t.Errorf("%+v", got)
	}
	for _, want := range []string{"Message-ID: <00000000000000aa.1.2.test@tensortap>", "Look: tensortap report ranks", "rank 4 died"} {
		if !strings.Contains(got.Text, want) {
			t.Errorf("no %q in\n%s", want, got.Text)
		}
	}
	if strings.Contains(got.Text, "\nBcc:") {
		t.Errorf("the name of a run became a header:\n%s", got.Text)
	}
}

func TestAServerThatIsNotWhatWasAskedForIsRefused(t *testing.T) {
	t.Parallel()
	open, box := receivers.StartMailbox(t, false), receivers.StartMailbox(t, true)
	for name, c := range map[string]struct {
		mail Mail
		want string
	}{
		"no STARTTLS":       {Mail{Server: open.Address, Security: StartTLS, TLS: open.Trusting}, "STARTTLS"},
		"unknown authority": {Mail{Server: box.Address, Security: StartTLS}, "certificate"},
		"wrong password":    {Mail{Server: box.Address, Security: StartTLS, TLS: box.Trusting, Username: "tap", Password: "SECRET2"}, "wrong password"},
		"nobody":            {Mail{Server: "127.0.0.1:1", Security: None}, "connection refused"},
	} {
		c.mail.From, c.mail.To = "a@example.com", []string{"b@example.com"}
		err := c.mail.Send(t.Context(), told())
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "SECRET") {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	if len(box.Letters)+len(open.Letters) > 0 {
		t.Error("a letter was sent all the same")
	}
}

func TestAServerOfTheSameHostNeedsNoTLS(t *testing.T) {
	t.Parallel()
	box := receivers.StartMailbox(t, false)
	m := &Mail{Server: box.Address, From: "a@example.com", To: []string{"b@example.com"}, Security: None}
	if err := m.Send(t.Context(), told()); err != nil {
		t.Fatal(err)
	}
	if got := <-box.Letters; got.Encrypted || got.User != "" {
		t.Errorf("%+v", got)
	}
}
