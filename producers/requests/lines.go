package requests

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"time"

	"github.com/tensortap/tensortap/producers/internal/lines"
)

// signOfVLLM is in each of vLLM's lines about requests.
const signOfVLLM = "request_logger.py"

// hasLines says whether lines about requests are among the text.
func hasLines(text []byte) bool {
	signs := []string{`"event": "request.`, `"request_parameters"`, `"rid"`, signOfVLLM}
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
	if m := vllmLine.FindSubmatch(text); m != nil {
		return f.vllm(m)
	}
	at := bytes.IndexByte(text, '{')
	if at < 0 {
		if bytes.Contains(text, []byte(signOfVLLM)) {
			return nil, errors.New("it names no request")
		}
		return nil, nil
	}
	var object map[string]any
	if err := json.Unmarshal(text[at:], &object); err != nil {
		if f.engine == "vllm" {
			return nil, nil // its log has braces of Python
		}
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
		meta, _ := nested(object, "out", "meta_info")
		r.answered(meta)
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

func nested(object map[string]any, names ...string) (map[string]any, bool) {
	ok := true
	for _, name := range names {
		object, ok = object[name].(map[string]any)
	}
	return object, ok
}

// vllmLine is what vLLM logs of a request: its process, level and time without a year, what happened, to which, and more.
var vllmLine = regexp.MustCompile(`^(?:\((\w+) pid=(\d+)\) )?[A-Z]+ (\d\d-\d\d \d\d:\d\d:\d\d) \[[\w.]+:\d+\] (Received|Added|Finished|Aborted) requests?(?:\(s\))? ([^\s:]+?)[.:](?: (.*))?$`)

var (
	vllmPrompt = regexp.MustCompile(`prompt: (?:'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)")`)
	vllmTokens = regexp.MustCompile(`prompt_token_ids: (\[[0-9, ]*\])`)
	vllmParams = regexp.MustCompile(`params: (SamplingParams\(.*)`)
)

func (f *file) vllm(parts [][]byte) ([]moment, error) {
	r := &request{id: valid(string(parts[5])), fields: map[string]string{"time_zone": f.options.Zone.String()}}
	if pid, err := strconv.ParseInt(string(parts[2]), 10, 64); err == nil {
		r.pid = &pid
	}
	if m := vllmPrompt.FindSubmatch(parts[6]); m != nil {
		r.text = valid(string(m[1]) + string(m[2]))
	}
	if m := vllmTokens.FindSubmatch(parts[6]); m != nil {
		var ids []any
		if json.Unmarshal(m[1], &ids) == nil {
			r.ids = integers(ids)
		}
	}
	if m := vllmParams.FindSubmatch(vllmPrompt.ReplaceAll(parts[6], nil)); m != nil {
		r.fields["params"] = valid(string(m[1][:min(len(m[1]), 2*longestField)]))
	}
	at, err := f.inYear(string(parts[3]))
	if err != nil {
		return nil, err
	}
	name := map[string]string{"Received": received, "Added": scheduled, "Finished": finished, "Aborted": aborted}[string(parts[4])]
	return []moment{{request: r, name: name, timeNs: at.UnixNano(), role: string(parts[1])}}, nil
}

// inYear is a time without its year: of the last such day before the file was written.
func (f *file) inYear(text string) (time.Time, error) {
	written := time.Unix(0, f.modTimeNs).In(f.options.Zone)
	at, err := time.ParseInLocation("2006-01-02 15:04:05", strconv.Itoa(written.Year())+"-"+text, f.options.Zone)
	if err == nil && at.After(written.AddDate(0, 0, 1)) {
		at = at.AddDate(-1, 0, 0)
	}
	return at, err
}
