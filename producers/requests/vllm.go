package requests

import (
	"bytes"
	"encoding/json"
	"errors"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// signOfVLLM is in vLLM's lines that show what was asked.
const signOfVLLM = "request_logger.py"

// vllmLine is what vLLM logs: its process, time without a year, and what it says.
var vllmLine = regexp.MustCompile(`^(?:\((\w+) pid=(\d+)\) )?[A-Z]+ (\d\d-\d\d \d\d:\d\d:\d\d) \[[\w.]+:\d+\] (.*)$`)

// What vLLM says of requests: which they are, and more.
var (
	vllmBegins   = regexp.MustCompile(`^(Received|Added|Finished|Aborted) requests?(?:\(s\))? ([^\s:]+?)[.:](?: (.*))?$`)
	vllmAnswered = regexp.MustCompile(`^Generated response (\S+?)(?: \(streaming complete\))?: output: .*, finish_reason: (\w+)$`)
	vllmGivenUp  = regexp.MustCompile(`^Request (\S+) (?:aborted|failed(?: \(([^)]*)\))?(?:: .*)?)\.$`)
)

// vllmShould is how lines begin that must name a request.
var vllmShould = regexp.MustCompile(`\[request_logger\.py:\d+\] (?:Received|Generated)`)

// Of a request that was received.
var (
	vllmPrompt = regexp.MustCompile(`prompt: (?:'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)")`)
	vllmTokens = regexp.MustCompile(`prompt_token_ids: (\[[0-9, ]*\])`)
	vllmParams = regexp.MustCompile(`params: (SamplingParams\(.*)`)
)

// vllm is the moments that a line of vLLM's log tells of.
func (f *file) vllm(text []byte) ([]moment, error) {
	parts := vllmLine.FindSubmatch(text)
	var moments []moment
	if parts != nil {
		moments = vllmMoments(parts[4])
	}
	if len(moments) == 0 {
		if vllmShould.Match(text) && !bytes.Contains(text, []byte(" (streaming delta)")) {
			return nil, errors.New("it names no request")
		}
		return nil, nil
	}
	at, err := f.inYear(string(parts[3]))
	if err != nil {
		return nil, err
	}
	for i := range moments {
		m := &moments[i]
		m.timeNs, m.role = at.UnixNano(), string(parts[1])
		if m.name == finished || m.name == aborted { // only the second is told: an end is not before what led to it
			m.timeNs += int64(time.Second) - 1
		}
		m.request.fields["time_zone"] = f.options.Zone.String()
		if pid, err := strconv.ParseInt(string(parts[2]), 10, 64); err == nil {
			m.request.pid = &pid
		}
	}
	return moments, nil
}

func vllmMoments(said []byte) (moments []moment) {
	add := func(id []byte, name, reason string) *request {
		r := &request{id: valid(string(id)), fields: map[string]string{}}
		moments = append(moments, moment{request: r, name: name, reason: valid(reason)})
		return r
	}
	if m := vllmBegins.FindSubmatch(said); m != nil {
		name := map[string]string{"Received": received, "Added": scheduled, "Finished": finished, "Aborted": aborted}[string(m[1])]
		for id := range strings.SplitSeq(string(m[2]), ",") { // several are aborted at once
			add([]byte(id), name, "").askedOfVLLM(m[3])
		}
	} else if m := vllmAnswered.FindSubmatch(said); m != nil {
		add(m[1], finished, string(m[2]))
	} else if m := vllmGivenUp.FindSubmatch(said); m != nil {
		add(m[1], aborted, string(m[2]))
	}
	return moments
}

func (r *request) askedOfVLLM(more []byte) {
	if m := vllmPrompt.FindSubmatch(more); m != nil {
		r.text = valid(string(m[1]) + string(m[2]))
	}
	if m := vllmTokens.FindSubmatch(more); m != nil {
		var ids []any
		if json.Unmarshal(m[1], &ids) == nil {
			r.ids = integers(ids)
		}
	}
	if m := vllmParams.FindSubmatch(vllmPrompt.ReplaceAll(more, nil)); m != nil {
		r.fields["params"] = valid(string(m[1][:min(len(m[1]), 2*longestField)]))
	}
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
