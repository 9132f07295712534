package requests

import (
	"encoding/binary"
	"encoding/json"
	"math"
	"strconv"
	"strings"

	"golang.org/x/crypto/blake2b"

	"github.com/tensortap/tensortap/schemas"
)

// Moments of request_event.
const (
	received   = "received"
	tokenised  = "tokenised"
	scheduled  = "scheduled"
	finished   = "finished"
	aborted    = "aborted"
	unfinished = "unfinished"
)

// moment is one in the life of a request.
type moment struct {
	request *request
	name    string
	timeNs  int64 // 0: not known
	role    string
	reason  string
}

// request is what is known of one as a whole.
type request struct {
	id             string
	pid            *int64
	text           string // of the prompt; empty when not known
	ids            []int64
	promptTokens   *uint32
	outputTokens   *uint32
	fields         map[string]string
	askedAt, endAt float64 // UTC seconds; 0 when not known
	reason         string
	hash           uint64          // of the prompt, where that is all that is known of it
	route          string          // where it was sent; empty when not known
	body           json.RawMessage // as it was sent; nil where the user's words were not kept
	answers        []string        // texts; nil where they were not kept
}

const (
	longestField = 256 // bytes
	mostFields   = 64
)

// row has all but the identity.
func (m *moment) row() *schemas.RequestEventRow {
	r := m.request
	row := &schemas.RequestEventRow{
		EventTimeNs: m.timeNs, Request: r.id, Moment: m.name, PID: r.pid, Role: m.role, Reason: m.reason,
		PromptHash: r.promptHash(), Prompt: r.text, PromptTokenCount: r.promptTokens, Fields: r.fields,
	}
	if m.name == finished || m.name == aborted || m.name == unfinished {
		row.OutputTokenCount = r.outputTokens
	}
	return row
}

// promptHash is as the collector makes it where the tokens are known, else of the text; 0 where neither is.
func (r *request) promptHash() uint64 {
	switch {
	case r.hash != 0:
		return r.hash
	case len(r.ids) > 0:
		text := make([]byte, 0, 8*len(r.ids))
		for _, id := range r.ids {
			text = binary.LittleEndian.AppendUint64(text, uint64(id)) //nolint:gosec // its bits
		}
		return hashed(text)
	case r.text != "":
		return hashed([]byte(r.text))
	}
	return 0
}

func hashed(text []byte) uint64 {
	hasher, err := blake2b.New(8, nil)
	if err != nil { // of a size that it knows
		return 0
	}
	_, _ = hasher.Write(text)
	return max(1, binary.LittleEndian.Uint64(hasher.Sum(nil)))
}

// asked takes over what the request says of itself: its prompt, and how to sample.
func (r *request) asked(object map[string]any) {
	if text, ok := object["text"].(string); ok {
		r.text = text
	}
	r.ids = integers(object["input_ids"])
	if sampling, ok := object["sampling_params"].(map[string]any); ok {
		r.note("sampling.", sampling)
	}
	r.resent(object)
}

// answered takes over what the engine says of the answer.
func (r *request) answered(meta map[string]any) {
	r.promptTokens, r.outputTokens = count(meta["prompt_tokens"]), count(meta["completion_tokens"])
	if reason, ok := meta["finish_reason"].(map[string]any); ok {
		r.reason, _ = reason["type"].(string)
		if said, ok := reason["message"].(string); ok && said != "" {
			r.reason += ": " + valid(said)
		}
	}
	if at := seconds(meta["request_received_ts"]); at > 0 {
		r.askedAt = at
	}
	if at := seconds(meta["request_finished_ts"]); at > 0 {
		r.endAt = at
	}
	r.note("", meta)
}

// note keeps plain values. What a user wrote is not among them.
func (r *request) note(prefix string, values map[string]any) {
	if r.fields == nil {
		r.fields = map[string]string{}
	}
	for name, value := range values {
		text, plain := plainText(value)
		if plain && len(r.fields) < mostFields && name != "text" {
			r.fields[prefix+valid(name)] = text
		}
	}
}

func plainText(value any) (string, bool) {
	switch v := value.(type) {
	case string:
		return valid(v[:min(len(v), longestField)]), true
	case bool:
		return strconv.FormatBool(v), true
	case int64:
		return strconv.FormatInt(v, 10), true
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64), true
	}
	return "", false
}

func valid(text string) string { return strings.ToValidUTF8(text, "?") }

// life are the moments of a request whose times SGLang wrote down. Without an end it was under way when that was written.
func (r *request) life(meta map[string]any) []moment {
	add := func(moments []moment, name string, at float64, role string) []moment {
		if at <= 0 {
			return moments
		}
		return append(moments, moment{request: r, name: name, timeNs: nanoseconds(at), role: role})
	}
	moments := add(nil, received, r.askedAt, "tokenizer")
	moments = add(moments, tokenised, seconds(meta["api_server_dispatch_finish_ts"]), "tokenizer")
	moments = add(moments, scheduled, seconds(meta["forward_entry_time"]), "scheduler")
	return append(moments, moment{request: r, name: r.ending(), timeNs: nanoseconds(r.endAt), role: "tokenizer", reason: r.reason})
}

func (r *request) ending() string {
	switch {
	case strings.HasPrefix(r.reason, "abort"):
		return aborted
	case r.reason != "" || r.outputTokens != nil:
		return finished
	}
	return unfinished
}

// seconds is a time of this century; SGLang has others by a clock that begins anywhere.
func seconds(value any) float64 {
	const first, last = 1e9, 4e9
	at, _ := value.(float64)
	if !(at > first && at < last) {
		return 0
	}
	return at
}

func nanoseconds(at float64) int64 { return int64(math.Round(at*1e6)) * 1000 }

func count(value any) *uint32 {
	var n float64
	switch v := value.(type) {
	case int64:
		n = float64(v)
	case float64:
		n = v
	default:
		return nil
	}
	if !(n >= 0 && n <= math.MaxUint32) {
		return nil
	}
	whole := uint32(n)
	return &whole
}

// integers are the numbers of a list, none where it has anything else.
func integers(value any) []int64 {
	list, ok := value.([]any)
	if !ok {
		return nil
	}
	numbers := make([]int64, 0, len(list))
	for _, item := range list {
		switch n := item.(type) {
		case int64:
			numbers = append(numbers, n)
		case float64:
			numbers = append(numbers, int64(n))
		default:
			return nil
		}
	}
	return numbers
}
