package requests

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/tensortap/tensortap/producers/internal/lines"
)

// signOfServer begins the file in which the collector records what a server gets and answers.
const signOfServer = `{"tensortap": "request"`

// Fields of what a server got and answered.
const (
	fieldExchange = "exchange" // the same of a request and its answer
	fieldRoute    = "route"
	fieldBody     = "body"       // JSON; without a user's words, unless they are kept
	fieldWhole    = "body_whole" // true where the body can be sent again
	fieldUnread   = "unread"     // why there is no body
	fieldAnswers  = "answers"    // JSON, a list of texts
)

// exchanged is a line of such a file: a request, or its answer.
type exchanged struct {
	Kind   string `json:"tensortap"`
	Number int64  `json:"n"`
	PID    int64  `json:"pid"`
	TimeNs int64  `json:"time_ns"`
	Lost   int64  `json:"lost"`

	Route      string          `json:"route"`
	Bytes      int64           `json:"bytes"`
	Body       json.RawMessage `json:"body"`
	Whole      bool            `json:"whole"`
	Unread     string          `json:"unread"`
	PromptHash string          `json:"prompt_hash"`
	Prompt     string          `json:"prompt"`

	FirstNs          int64    `json:"first_ns"`
	Status           int64    `json:"status"`
	Broken           string   `json:"broken"`
	ID               string   `json:"id"`
	FinishReason     string   `json:"finish_reason"`
	PromptTokens     *uint32  `json:"prompt_tokens"`
	CompletionTokens *uint32  `json:"completion_tokens"`
	AnswerHash       string   `json:"answer_hash"`
	Answers          []string `json:"answers"`
}

// served are the moments of the requests that a server got. An answer tells the engine's name of its request.
func (f *file) served(s *source, text []byte) (all []moment) {
	var said []exchanged
	answers := map[int64]*exchanged{}
	_ = lines.Each(bytes.NewReader(text), 0, func(l lines.Line) error { // reading from memory fails never
		var one exchanged
		if err := json.Unmarshal(l.Text, &one); err != nil {
			s.Problems.Add(fmt.Sprintf("%s: the line at byte %d cannot be read: %v", f.path, l.From, err))
			return nil
		}
		if one.Lost > 0 {
			s.Problems.Add(fmt.Sprintf("%s: %d requests or answers before byte %d were not recorded", f.path, one.Lost, l.From))
		}
		said = append(said, one)
		return nil
	})
	for i := range said {
		if said[i].Kind == "answer" {
			answers[said[i].Number] = &said[i]
		}
	}
	for i := range said {
		if said[i].Kind == "request" {
			all = append(all, f.exchange(&said[i], answers[said[i].Number])...)
		}
	}
	return all
}

// exchange are the moments of one request; its answer is nil where there is none.
func (f *file) exchange(asked, answer *exchanged) []moment {
	r := &request{id: asked.name(answer), pid: &asked.PID, text: asked.Prompt, fields: asked.fields(), route: asked.Route}
	r.hash, _ = strconv.ParseUint(asked.PromptHash, 16, 64)
	if asked.Whole {
		r.body = asked.Body
	} else if asked.Body != nil {
		r.fields[fieldBody] = valid(string(asked.Body))
	}
	moments := []moment{{request: r, name: received, timeNs: asked.TimeNs, role: "http"}}
	if answer == nil {
		return moments
	}
	ended := *r
	ended.fields, ended.answers = answer.fields(), answer.Answers
	ended.promptTokens, ended.outputTokens = answer.PromptTokens, answer.CompletionTokens
	m := moment{request: &ended, name: finished, timeNs: answer.TimeNs, role: "http", reason: valid(answer.FinishReason)}
	if m.reason = valid(answer.reason()); answer.Broken != "" || answer.Status >= firstRefusal {
		m.name = aborted
	}
	return append(moments, m)
}

// firstRefusal is the least status of an answer that is none.
const firstRefusal = 400

func (e *exchanged) reason() string {
	switch {
	case e.Broken != "":
		return e.Broken
	case e.Status >= firstRefusal:
		return "status " + strconv.FormatInt(e.Status, 10)
	}
	return e.FinishReason
}

// name is the engine's name of the request, else its client's, else a number.
func (e *exchanged) name(answer *exchanged) string {
	if answer != nil && answer.ID != "" {
		return valid(answer.ID)
	}
	var named struct {
		RID       any `json:"rid"`
		RequestID any `json:"request_id"`
	}
	_ = json.Unmarshal(e.Body, &named) // of what is no object, it has no name
	for _, name := range []any{named.RID, named.RequestID} {
		if text, ok := name.(string); ok && text != "" {
			return valid(text)
		}
	}
	return "http-" + e.exchange()
}

func (e *exchanged) exchange() string { return fmt.Sprintf("%d-%d", e.PID, e.Number) }

// fields are what has no column.
func (e *exchanged) fields() map[string]string {
	fields := map[string]string{fieldExchange: e.exchange()}
	for name, value := range map[string]string{fieldRoute: e.Route, fieldUnread: e.Unread, "answer_hash": e.AnswerHash} {
		if value != "" {
			fields[name] = valid(value)
		}
	}
	if e.Kind == "request" {
		fields["body_bytes"] = strconv.FormatInt(e.Bytes, 10)
		return fields
	}
	fields["status"] = strconv.FormatInt(e.Status, 10)
	if e.FirstNs > 0 {
		fields["first_byte_time_ns"] = strconv.FormatInt(e.FirstNs, 10)
	}
	return fields
}
