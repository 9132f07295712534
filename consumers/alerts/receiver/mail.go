package receiver

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"strconv"
	"strings"

	"github.com/wneessen/go-mail"
)

// Mail sends each notification as one e-mail.
type Mail struct {
	Server             string // host:port
	From               string
	To                 []string
	Username, Password string // empty where the server asks for none
	Security           Security
	TLS                *tls.Config // nil for the system's authorities
}

// Security is how the way to the mail server is kept private.
type Security string

// The kinds of Security.
const (
	StartTLS Security = "starttls" // a server that does not offer it is refused
	Implicit Security = "implicit" // TLS from the first byte, as on port 465
	None     Security = "none"     // for a server on the same host
)

func (m *Mail) message(n *Notification) (*mail.Msg, error) {
	message := mail.NewMsg()
	if err := message.From(m.From); err != nil {
		return nil, fmt.Errorf("sender %q: %w", m.From, err)
	}
	if err := message.To(m.To...); err != nil {
		return nil, fmt.Errorf("addressees %q: %w", m.To, err)
	}
	message.Subject(n.title())
	message.SetDate()
	message.SetMessageIDWithValue(messageID(n))
	message.SetBodyString(mail.TypeTextPlain, mailText(n))
	return message, nil
}

// messageID is the same when the same is sent again, so that mailboxes show it once.
func messageID(n *Notification) string {
	first := &n.Alerts[0]
	return fmt.Sprintf("%s.%d.%d.%s@tensortap", first.Fingerprint, first.Change, len(n.Alerts), n.Receiver)
}

func mailText(n *Notification) string {
	var text strings.Builder
	for i := range n.Alerts {
		if i == mostLines {
			fmt.Fprintf(&text, "and %d more: tensortap alert list\n", len(n.Alerts)-i)
			break
		}
		fmt.Fprintf(&text, "%s\nLook: %s\n\n", n.Alerts[i].line(), n.Alerts[i].Command)
	}
	return text.String()
}

func (m *Mail) client() (*mail.Client, error) {
	host, port, err := net.SplitHostPort(m.Server)
	if err != nil {
		return nil, err
	}
	number, err := strconv.Atoi(port)
	if err != nil {
		return nil, err
	}
	config := m.TLS
	if config == nil {
		config = &tls.Config{MinVersion: tls.VersionTLS12, ServerName: host}
	}
	options := []mail.Option{mail.WithPort(number), mail.WithTimeout(SendTimeout), mail.WithTLSConfig(config), mail.WithTLSPolicy(mail.TLSMandatory)}
	switch m.Security {
	case Implicit:
		options = append(options, mail.WithSSL())
	case None:
		options = append(options, mail.WithTLSPolicy(mail.NoTLS))
	case StartTLS:
	}
	if m.Username != "" {
		options = append(options, mail.WithSMTPAuth(mail.SMTPAuthAutoDiscover), mail.WithUsername(m.Username), mail.WithPassword(m.Password))
	}
	return mail.NewClient(host, options...)
}

// Send delivers one e-mail to the server.
func (m *Mail) Send(ctx context.Context, n Notification) error {
	message, err := m.message(&n)
	if err != nil {
		return err
	}
	client, err := m.client()
	if err != nil {
		return fmt.Errorf("mail server %s: %w", m.Server, err)
	}
	ctx, cancel := context.WithTimeout(ctx, SendTimeout)
	defer cancel()
	if err := client.DialAndSendWithContext(ctx, message); err != nil {
		return fmt.Errorf("mail server %s: %w", m.Server, err)
	}
	return nil
}

// Preview is the e-mail for people, without what only servers read.
func (m *Mail) Preview(n Notification) (string, error) {
	if _, err := m.message(&n); err != nil {
		return "", err
	}
	return fmt.Sprintf("From: %s\nTo: %s\nSubject: %s\n\n%s", m.From, strings.Join(m.To, ", "), n.title(), strings.TrimRight(mailText(&n), "\n")), nil
}

// Where names server and addressees.
func (m *Mail) Where() string {
	return "e-mail to " + strings.Join(m.To, ", ") + " by " + m.Server
}
