package logline

import (
	"encoding/json"
	"slices"
	"strings"
	"time"
)

// iteration is what vLLM tells of one with --enable-logging-iteration-details, from its number on:
//
//	7): 1 context requests, 8 context tokens, 2 generation requests, 2 generation tokens, iteration elapsed time: 33.11 ms
func (r *Record) iteration(m string) {
	number, rest, closed := strings.Cut(m, "): ")
	if !closed {
		return
	}
	r.Kind = VLLMIteration
	r.setStep(number)
	for one := range strings.SplitSeq(rest, ", ") {
		one = strings.TrimSpace(one)
		if key, value, paired := strings.Cut(one, ": "); paired {
			value, _, _ = strings.Cut(value, " ") // without its unit
			r.pair(key, value)
		} else if count, key, counted := strings.Cut(one, " "); counted {
			r.pair(key, count)
		}
	}
}

// Names in lines of forward passes.
const (
	prefixOfPass = "forward_pass." // as the collector calls them in SGLang's scheduler
	signOfPass   = `"scheduled_requests"`
	signOfDP     = `"dp_rank":`
)

// passed is a line of NVIDIA Dynamo's trace of forward passes, dynamo.fpm.trace.v1.
type passed struct {
	Event struct {
		ObservedMs int64          `json:"observed_at_unix_ms"`
		Capture    string         `json:"capture_mode"`
		Pass       map[string]any `json:"fpm"`
	} `json:"event"`
}

// placeOfPass finds the replica that a forward pass was in. Whoever asks for lines of some places needs it before the rest.
func (r *Record) placeOfPass() {
	if !strings.Contains(r.Message, signOfPass) {
		return
	}
	_, rest, found := strings.Cut(r.Message, signOfDP)
	rest = strings.TrimLeft(rest, " ")
	end := 0
	for end < len(rest) && isDigit(rest[end]) {
		end++
	}
	if found && end > 0 {
		number(rest[:end], "", &r.Where.DP)
	}
}

// forwardPass reads what a scheduler of SGLang, vLLM or TensorRT-LLM tells of an iteration: in Dynamo's trace, or the bare
// message as JSON, which has no time.
func (r *Record) forwardPass(m string) {
	var line passed
	if err := decode(m, &line); err != nil {
		return
	}
	pass := line.Event.Pass
	if pass == nil {
		_ = decode(m, &pass) // it is good JSON, and an object
	}
	if _, is := pass["scheduled_requests"].(map[string]any); !is {
		return
	}
	r.Kind = ForwardPass
	if line.Event.ObservedMs > 0 && line.Event.ObservedMs < latestMs {
		r.TimeNs, r.Clock = line.Event.ObservedMs*int64(time.Millisecond), ZonedClock
	}
	if line.Event.Capture != "" {
		r.Pairs = append(r.Pairs, Pair{Key: "capture_mode", Value: line.Event.Capture})
	}
	r.ofPass(prefixOfPass, pass)
	for _, of := range sorted(pass) {
		if part, is := pass[of].(map[string]any); is {
			r.ofPass(prefixOfPass+of+".", part)
		}
	}
}

// latestMs is the first millisecond that does not fit nanoseconds.
const latestMs = 9_223_372_036_854

// decode keeps numbers as they are written.
func decode(m string, into any) error {
	decoder := json.NewDecoder(strings.NewReader(m))
	decoder.UseNumber()
	return decoder.Decode(into)
}

// ofPass are the numbers of a message, or of a part of it, by name. Texts are no numbers, whatever they look like.
func (r *Record) ofPass(prefix string, part map[string]any) {
	for _, name := range sorted(part) {
		switch value := part[name].(type) {
		case json.Number:
			r.pair(prefix+name, value.String())
		case string:
			r.Pairs = append(r.Pairs, Pair{Key: prefix + name, Value: value})
		}
	}
}

const longestName = 100 // bytes, of what such a message calls a number

// sorted are the names in a part of a message.
func sorted(part map[string]any) []string {
	names := make([]string, 0, len(part))
	for name := range part {
		if len(name) <= longestName {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
