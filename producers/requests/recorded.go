package requests

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/tensortap/tensortap/producers"
	"github.com/tensortap/tensortap/producers/internal/content"
)

// Recorded is a request that a server got, as it can be sent again.
type Recorded struct {
	ID         string // the engine's name of it
	Exchange   string // of a server's process; empty of others
	Route      string
	Body       json.RawMessage // nil where it was not kept
	Missing    string          // why there is no body
	AtNs       int64           // when it came, UTC; 0 when not known
	PromptHash uint64
	Answers    []string // texts, one for each prompt or choice; nil where they were not kept
}

// NotKept is why most requests have no body.
const NotKept = "its text was not kept"

// Read are the requests in the files at a path, in the order in which they came, with what is lost.
func Read(path string) ([]Recorded, producers.Problems, error) {
	files, problems, err := listFiles(path, Options{KeepPrompts: true, Zone: time.Local}) //nolint:gosmopolitan // what no file says
	if err != nil {
		return nil, problems, fmt.Errorf("find requests at %s: %w", path, err)
	}
	all := gathering{}
	for _, f := range files {
		text, err := f.content()
		if err != nil {
			return nil, problems, err
		}
		s := &source{file: f, Content: content.Content{}}
		moments, lost := f.tell(s, text)
		if lost != nil {
			s.Problems.Add(fmt.Sprintf("%s: %v", f.path, lost))
		}
		for _, problem := range s.Problems.First {
			problems.Add(problem)
		}
		all.add(f.path, moments)
		if f.engine == "vllm" {
			all.missing(f.path, "vLLM's log has its parameters in a form that cannot be sent")
		}
	}
	return all.inOrder(), problems, nil
}

// gathering has what the moments of each request say together.
type gathering map[string]*Recorded

func (g gathering) add(path string, moments []moment) {
	for _, m := range moments {
		r := m.request
		key := path + "\x1f" + r.id + "\x1f" + r.fields[fieldExchange]
		one := g[key]
		if one == nil {
			one = &Recorded{ID: r.id, Exchange: r.fields[fieldExchange], PromptHash: r.promptHash(), AtNs: m.timeNs}
			g[key] = one
		}
		one.take(r)
		if m.name == received {
			one.AtNs = m.timeNs
		}
	}
}

// missing says why the requests of a file have no body.
func (g gathering) missing(path, why string) {
	for key, one := range g {
		if strings.HasPrefix(key, path+"\x1f") {
			one.Missing = cmp.Or(one.Missing, why)
		}
	}
}

func (one *Recorded) take(r *request) {
	one.Route = cmp.Or(one.Route, r.route)
	if one.Body == nil {
		one.Body = r.body
	}
	if one.Answers == nil {
		one.Answers = r.answers
	}
	one.Missing = cmp.Or(one.Missing, r.fields[fieldUnread])
}

func (g gathering) inOrder() []Recorded {
	all := make([]Recorded, 0, len(g))
	for _, one := range g {
		if one.Body == nil && one.Missing == "" {
			one.Missing = NotKept
		}
		all = append(all, *one)
	}
	sortByArrival(all)
	return all
}

func sortByArrival(all []Recorded) {
	slices.SortStableFunc(all, func(a, b Recorded) int { return cmp.Or(cmp.Compare(a.AtNs, b.AtNs), cmp.Compare(a.ID, b.ID)) })
}

// Merge is both lists as one, in the order in which requests came. What a server got is in it once, with all that either says
// of it: a store that was cut off leaves it in both.
func Merge(stored, more []Recorded) []Recorded {
	type exchange struct {
		name string
		atNs int64 // processes of other launches have the same numbers
	}
	all, known := slices.Clone(stored), map[exchange]int{}
	for i := range all {
		known[exchange{all[i].Exchange, all[i].AtNs}] = i
	}
	for _, one := range more {
		at, both := known[exchange{one.Exchange, one.AtNs}]
		switch {
		case !both || one.Exchange == "":
			all = append(all, one)
		case all[at].Body == nil && one.Body != nil:
			one.Answers = either(one.Answers, all[at].Answers)
			all[at] = one
		default:
			all[at].Answers = either(all[at].Answers, one.Answers)
		}
	}
	sortByArrival(all)
	return all
}

func either(first, second []string) []string {
	if first != nil {
		return first
	}
	return second
}

// routeOfSGLang is where what its records call a request to generate was sent.
const routeOfSGLang = "/generate"

// resent has what of a record of SGLang goes into a request.
func (r *request) resent(object map[string]any) {
	body := map[string]any{}
	names := []string{"text", "input_ids", "sampling_params", "image_data", "video_data", "audio_data", "modalities", "lora_path", "custom_logit_processor"}
	for _, name := range names {
		if value := object[name]; value != nil {
			body[name] = value
		}
	}
	if body["input_ids"] != nil {
		delete(body, "text") // SGLang takes one of them
	}
	if body["text"] == nil && body["input_ids"] == nil {
		return
	}
	text, err := json.Marshal(body)
	if err == nil { // a number that JSON does not have
		r.route, r.body = routeOfSGLang, text
	}
}

// keptFields are the fields of a moment where the user's words are kept: what it takes to send the request again, and the
// answer.
func (m *moment) keptFields() map[string]string {
	r := m.request
	if m.name == received && r.body != nil {
		fields := withField(r.fields, fieldBody, valid(string(r.body)))
		fields[fieldWhole], fields[fieldRoute] = "true", r.route
		return fields
	}
	if m.name != received && r.answers != nil {
		if text, err := json.Marshal(r.answers); err == nil {
			return withField(r.fields, fieldAnswers, string(text))
		}
	}
	return r.fields
}

func withField(fields map[string]string, name, value string) map[string]string {
	fields = maps.Clone(fields)
	if fields == nil {
		fields = map[string]string{}
	}
	fields[name] = value
	return fields
}
