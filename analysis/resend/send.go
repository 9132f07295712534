package resend

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
)

// State is what became of a request at a server.
type State string

// The states of a request.
const (
	Unsent   State = ""          // it was not sent, as a server was down or the command was stopped
	Answered State = "answered"  // with an answer that can be read
	Refused  State = "refused"   // by the server: its status is no success, or its answer no answer
	TimedOut State = "timed out" // it took longer than is waited for
	Broken   State = "broken"    // the connection ended before the answer did
	Down     State = "down"      // the server cannot be reached
)

// Reply is what a server made of a request.
type Reply struct {
	State       State
	Said        string // why there is no answer
	Generations []Generation
}

const (
	mostAnswer = 64 << 20
	mostSaid   = 300 // bytes of a refusal
)

// ask sends a body and reads the answer.
func (s *sending) ask(ctx context.Context, url string, body []byte) Reply {
	limited, cancel := context.WithTimeoutCause(ctx, s.Timeout, errSlow)
	defer cancel()
	status, text, err := s.post(limited, url, body)
	reply := replyOf(ctx, limited, status, text, err)
	if reply.State == TimedOut {
		reply.Said = fmt.Sprintf("no answer within %v", s.Timeout)
	}
	return reply
}

// errSlow is the cause when an answer takes too long.
var errSlow = errors.New("no answer in time")

func (s *sending) post(ctx context.Context, url string, body []byte) (status string, text []byte, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return "", nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	if s.Token != "" {
		request.Header.Set("Authorization", "Bearer "+s.Token)
	}
	response, err := s.client.Do(request)
	if err != nil {
		return "", nil, err
	}
	text, err = io.ReadAll(io.LimitReader(response.Body, mostAnswer))
	err = errors.Join(err, response.Body.Close())
	if response.StatusCode/100 != http.StatusOK/100 {
		status = response.Status
	}
	return status, text, err
}

// replyOf is what an answer, or the lack of one, is.
func replyOf(ctx, limited context.Context, status string, text []byte, err error) Reply {
	switch {
	case err != nil && ctx.Err() != nil: // the user has stopped it, or another server is down
		return Reply{State: Unsent}
	case err != nil && errors.Is(context.Cause(limited), errSlow):
		return Reply{State: TimedOut}
	case err != nil && isDial(err):
		return Reply{State: Down, Said: causeOf(err)}
	case err != nil:
		return Reply{State: Broken, Said: causeOf(err)}
	case status != "":
		return Reply{State: Refused, Said: strings.TrimSpace(status + ": " + message(text))}
	}
	generations, err := generationsOf(text)
	if err != nil {
		return Reply{State: Refused, Said: err.Error()}
	}
	return Reply{State: Answered, Generations: generations}
}

func isDial(err error) bool {
	failed, is := errors.AsType[*net.OpError](err)
	return is && failed.Op == "dial"
}

// causeOf is the error without the address, which is said anyway.
func causeOf(err error) string {
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return err.Error()
		}
		err = inner
	}
}

// message is what a refusal says, as engines put it: a text, or an object with a message at some place.
func message(text []byte) string {
	var said struct {
		Message string          `json:"message"`
		Detail  json.RawMessage `json:"detail"`
		Error   json.RawMessage `json:"error"`
	}
	if json.Unmarshal(text, &said) == nil {
		for _, part := range []json.RawMessage{said.Error, said.Detail} {
			var inner string
			if json.Unmarshal(part, &inner) == nil {
				return shortened(inner)
			}
			if len(part) > 0 && part[0] == '{' {
				return message(part)
			}
		}
		if said.Message != "" {
			return shortened(said.Message)
		}
	}
	return shortened(strings.TrimSpace(string(text)))
}

func shortened(text string) string {
	return strings.ToValidUTF8(text[:min(len(text), mostSaid)], "")
}
