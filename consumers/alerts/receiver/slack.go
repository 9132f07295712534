package receiver

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
)

// Slack posts in the form of Slack's incoming webhooks, which Mattermost and others read, too.
type Slack struct{ URL string } // a secret: who knows it may post

type slackMessage struct {
	Text        string            `json:"text"`
	Attachments []slackAttachment `json:"attachments"`
}

type slackAttachment struct {
	Color    string `json:"color"`
	Text     string `json:"text"`
	Fallback string `json:"fallback"`
}

// escape is for the three characters that Slack reads as commands.
func escape(text string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(text)
}

func color(a *Alert) string {
	switch {
	case a.State == Resolved:
		return "good"
	case a.Severity == "critical":
		return "danger"
	}
	return "warning"
}

func (*Slack) body(n *Notification) ([]byte, error) {
	message := slackMessage{Text: "*" + escape(n.title()) + "*"}
	for i := range n.Alerts {
		if i == mostLines {
			rest := fmt.Sprintf("and %d more", len(n.Alerts)-i)
			message.Attachments = append(message.Attachments, slackAttachment{Color: color(&n.Alerts[i]), Text: rest, Fallback: rest})
			break
		}
		a := &n.Alerts[i]
		text := escape(a.line()) + "\n`" + escape(strings.ReplaceAll(a.Command, "`", "'")) + "`"
		message.Attachments = append(message.Attachments, slackAttachment{Color: color(a), Text: text, Fallback: escape(a.Summary)})
	}
	return json.MarshalIndent(message, "", "  ")
}

// Send posts one message.
func (s *Slack) Send(ctx context.Context, n Notification) error {
	body, err := s.body(&n)
	if err != nil {
		return err
	}
	if err := post(ctx, s.URL, body, Login{}); err != nil {
		return fmt.Errorf("webhook at %s: %w", withoutSecrets(s.URL), err)
	}
	return nil
}

// Preview is what would be posted.
func (s *Slack) Preview(n Notification) (string, error) {
	body, err := s.body(&n)
	return string(body), err
}

// Where names the host; the rest of the address is the secret.
func (s *Slack) Where() string { return "webhook at " + withoutSecrets(s.URL) }
