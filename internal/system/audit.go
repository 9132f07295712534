package system

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/tensortap/tensortap/internal/audit"
	"github.com/tensortap/tensortap/producers/agent"
	"github.com/tensortap/tensortap/schemas"
)

const (
	noteFor  = 15 * time.Second // for the stream to take a line of audit
	noteLook = 20 * time.Millisecond
)

// Audited does a deed between two lines of audit.
func (c *Client) Audited(ctx context.Context, deed audit.Deed, do func() error) error {
	return c.audited(ctx, deed, func() (audit.Outcome, error) {
		err := do()
		return audit.Of(err), err
	})
}

func (c *Client) audited(ctx context.Context, deed audit.Deed, do func() (audit.Outcome, error)) error {
	book := audit.Book{Write: c.note, Who: c.who(), Now: c.now}
	return book.Do(ctx, deed, do)
}

// note has the stream keep a line.
func (c *Client) note(ctx context.Context, m schemas.Message) error {
	ctx, cancel := context.WithTimeout(ctx, noteFor)
	defer cancel()
	sent, err := c.stream.PublishMsgAsync(&nats.Msg{Subject: m.Subject(), Header: m.NATSHeader(), Data: m.Data}, jetstream.WithRetryAttempts(1))
	if err != nil {
		return err
	}
	look := time.NewTicker(noteLook)
	defer look.Stop()
	for {
		select {
		case <-sent.Ok():
			return nil
		case err := <-sent.Err():
			return noRoom(err)
		case <-ctx.Done():
			return fmt.Errorf("the stream did not answer: its disk may be full, or its servers away; their log says more: %w", ctx.Err())
		case <-look.C: // who may not write is not answered
			if err := c.stream.Conn().LastError(); errors.Is(err, nats.ErrPermissionViolation) && strings.Contains(err.Error(), strconv.Quote(m.Subject())) {
				return fmt.Errorf("this user of NATS may not write it: %w", nats.ErrPermissionViolation)
			}
		}
	}
}

// noRoom tells a stream that is full from others.
func noRoom(err error) error {
	refused := (*jetstream.APIError)(nil)
	if errors.As(err, &refused) && refused.Code >= http.StatusInternalServerError && strings.Contains(refused.Description, "maximum") {
		return fmt.Errorf("%w: %w", audit.ErrNoRoom, err)
	}
	return err
}

// who is this process, as far as it knows itself. The server has checked the user of NATS, nobody the others.
func (c *Client) who() audit.Who {
	host, _ := os.Hostname() // it only tells people who it is
	w := audit.Who{SystemUser: systemUser(), Host: host, NATSUser: c.Endpoint.natsUser()}
	if c.Endpoint.Login.Creds != "" {
		w.Credentials = filepath.Base(c.Endpoint.Login.Creds)
	}
	return w
}

func systemUser() string {
	if own, err := user.Current(); err == nil {
		return cmp.Or(own.Username, own.Uid)
	}
	return strconv.Itoa(os.Getuid())
}

// natsUser is who logs in; empty where a token does.
func (e Endpoint) natsUser() string {
	if text, err := os.ReadFile(e.Login.Creds); err == nil {
		public, _ := publicKey(text) // of who could log in
		return public
	}
	first, _, _ := strings.Cut(e.NATS, ",")
	if u, err := url.Parse(first); err == nil && u.User != nil {
		if _, isUser := u.User.Password(); isUser {
			return u.User.Username()
		}
	}
	return ""
}

// deedOf is what is asked of processes. Texts of prompts are users' own, and are counted.
func deedOf(run string, r *agent.Request) audit.Deed {
	details := map[string]string{}
	put := func(name string, value any, given bool) {
		if given {
			details[name] = fmt.Sprint(value)
		}
	}
	put("ranks", r.Ranks, len(r.Ranks) > 0)
	put("level", r.Level, r.Level != "")
	put("steps", r.Steps, r.Steps > 0)
	put("scope", r.Scope, len(r.Scope) > 0)
	put("requests", r.Requests, len(r.Requests) > 0)
	put("prompt_count", len(r.Prompts)+len(r.Texts), len(r.Prompts)+len(r.Texts) > 0)
	put("when", r.When, r.When != "")
	put("port", r.Port, r.Port > 0)
	put("most_bytes", r.MostBytes, r.MostBytes > 0)
	put("seconds", r.Seconds, r.Seconds > 0)
	return audit.Deed{Name: r.Do, Run: run, Details: details}
}

// outcomeOf is what processes made of a request.
func outcomeOf(asked *Asked, err error) audit.Outcome {
	if err != nil {
		return audit.Of(err)
	}
	all, refused, reason := len(asked.Answers)+len(asked.Silent), 0, ""
	for i := range asked.Answers {
		if asked.Answers[i].State == agent.StateRefused {
			refused++
			reason = asked.Answers[i].Reason
		}
	}
	open := asked.Open()
	switch {
	case refused+open == 0:
		return audit.Outcome{Result: audit.Done}
	case refused == all:
		return audit.Outcome{Result: audit.Refused, Reason: reason}
	}
	return audit.Outcome{Result: audit.Partly, Reason: fmt.Sprintf("of %d ranks %d refused and %d did not answer in full", all, refused, open)}
}

// mostRemembered bounds the requests that an agent knows again.
const mostRemembered = 64

// askedBefore says whether a request is one that is made again: each is until it is answered.
func askedBefore() func(sequence uint32) bool {
	known := map[uint32]bool{}
	return func(sequence uint32) bool {
		if known[sequence] {
			return true
		}
		if len(known) == mostRemembered {
			clear(known)
		}
		known[sequence] = true
		return false
	}
}

// told is the line of an agent's log about a request that it hands to processes.
func told(r *agent.Request, answers []agent.Answer) string {
	ranks := make([]string, len(answers))
	for i := range answers {
		ranks[i] = strconv.FormatUint(uint64(answers[i].Rank), 10)
	}
	return fmt.Sprintf("audit: %s asks ranks %s of run %s to %s", named(r.By), strings.Join(ranks, ","), schemas.FormatID(r.RunID), r.Do)
}

// named is who a request says that it comes from, which may be anything.
func named(by string) string {
	const longest = 300
	return cmp.Or(by[:min(longest, len(by))], "somebody")
}
