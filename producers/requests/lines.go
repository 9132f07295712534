package requests

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/tensortap/tensortap/producers/internal/lines"
)

// hasLines says whether lines about requests are among the text.
func hasLines(text []byte) bool {
	return hasSign(text) || bytes.Contains(text, []byte(signOfVLLM))
}

// hasSign says whether one of SGLang's lines about requests is among the text.
func hasSign(text []byte) bool {
	signs := []string{`"event": "request.`, `"request_parameters"`, `"rid"`}
	return slices.ContainsFunc(signs, func(sign string) bool { return bytes.Contains(text, []byte(sign)) })
}

// lined are the moments in a file of lines. Lines about something else are passed over; a line that is about requests and
// cannot be read is a problem.
func (f *file) lined(s *source, text []byte) (all []moment) {
	_ = lines.Each(bytes.NewReader(text), 0, func(l lines.Line) error { // reading from memory fails never
		moments, err := f.line(l.Text)
		switch {
		case l.Err() != nil:
			err = l.Err()
		case err == nil && !l.Whole && (len(moments) == 0 || f.engine == "vllm"): // JSON shows its own end
			err = errors.New("the file ends in the middle of it")
		}
		if err != nil {
			s.Problems.Add(fmt.Sprintf("%s: the line at byte %d cannot be read: %v", f.path, l.From, err))
		}
		all = append(all, moments...)
		return nil
	})
	return all
}

// line is the moments that a line tells of.
func (f *file) line(text []byte) ([]moment, error) {
	if f.engine == "vllm" {
		return f.vllm(text)
	}
	at := bytes.IndexByte(text, '{')
	if at < 0 || at > 0 && !hasSign(text) { // what a server prints has braces of other things
		return nil, nil
	}
	var object map[string]any
	if err := json.Unmarshal(text[at:], &object); err != nil {
		return nil, err
	}
	if parameters, ok := object["request_parameters"].(string); ok {
		return metrics(object, parameters)
	}
	return f.event(object)
}

// metrics is a line of SGLang's export of metrics, in which the request is JSON within JSON.
func metrics(object map[string]any, parameters string) ([]moment, error) {
	var asked map[string]any
	if err := json.Unmarshal([]byte(parameters), &asked); err != nil {
		return nil, fmt.Errorf("request_parameters: %w", err)
	}
	r := &request{}
	if r.id, _ = object["id"].(string); r.id == "" {
		r.id, _ = asked["rid"].(string)
	}
	if r.id == "" {
		return nil, errors.New("it names no request")
	}
	r.id = valid(r.id)
	r.asked(asked)
	r.answered(object)
	return r.life(object), nil
}

// event is a line of SGLang's request log.
func (f *file) event(object map[string]any) ([]moment, error) {
	name, _ := object["event"].(string)
	id, _ := object["rid"].(string)
	if name == "request.received.openai" { // of which the next line tells with its id
		return nil, nil
	}
	if name == "" || id == "" {
		return nil, errors.New("it has no event and rid")
	}
	r := &request{id: valid(id)}
	if asked, ok := object["obj"].(map[string]any); ok {
		r.asked(asked)
	}
	text, _ := object["timestamp"].(string)
	at, err := time.ParseInLocation("2006-01-02T15:04:05", text, f.options.Zone)
	if err != nil {
		return nil, fmt.Errorf("timestamp: %w", err)
	}
	m := moment{request: r, name: received, timeNs: at.UnixNano(), role: "tokenizer"}
	if name == "request.finished" {
		r.answered(nested(object, "out", "meta_info"))
		if text, ok := nested(object, "out")["text"].(string); ok {
			r.answers = []string{text}
		}
		m.name, m.reason = r.ending(), r.reason
		if m.name == unfinished {
			m.name = finished
		}
	} else if name != "request.received" {
		return nil, fmt.Errorf("event %.60q is not known", name)
	}
	r.note("", map[string]any{"time_zone": f.options.Zone.String()})
	return []moment{m}, nil
}

func nested(object map[string]any, names ...string) map[string]any {
	for _, name := range names {
		object, _ = object[name].(map[string]any)
	}
	return object
}
