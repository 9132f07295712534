package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/tensortap/tensortap/internal/conditions"
	"github.com/tensortap/tensortap/internal/system"
	"github.com/tensortap/tensortap/internal/tokens"
	"github.com/tensortap/tensortap/producers/agent"
)

// Limits of what is asked of living processes.
const (
	answersWithin = 30 * time.Second // longer than most steps take
	mostPatience  = 2 * time.Minute
	payloadBytes  = 1 << 30
)

// deed is what living processes are asked to do.
type deed struct {
	Run            string   `json:"run"`
	Ranks          []int64  `json:"ranks"`
	TimeoutSeconds float64  `json:"timeout_seconds"`
	Level          string   `json:"level"`
	Steps          int      `json:"steps"`
	Scope          []string `json:"scope"`
	Requests       []string `json:"requests"`
	Prompts        []string `json:"prompts"`
	When           []string `json:"when"`
	Payload        bool     `json:"payload"`
	PayloadBytes   int64    `json:"payload_bytes"`
}

// controlRoutes are what operators ask of living processes. Each leaves lines of audit, as the commands do.
func (a *API) controlRoutes() []route {
	var all []route
	for _, c := range []struct{ do, title string }{
		{agent.DoCapture, "Record more of a live run, now, for some steps"},
		{agent.DoPoke, "Where each rank of a live run is right now"},
		{agent.DoStop, "Stop the recording of a live run; its program runs on"},
		{agent.DoResume, "Record again as the run's settings say"},
	} {
		all = append(all, route{
			method: http.MethodPost, path: root + "/control/" + c.do, title: c.title, answer: a.handle(a.ofOperators(a.ask(a.controlling(c.do)))), body: deedSchema(c.do),
			doc: "For operators. The answer has what each rank says, `silent` the ranks of which no agent said a word, `complete` whether all do as asked.",
		})
	}
	return all
}

func deedSchema(do string) object {
	text, texts := object{"type": "string"}, object{"type": "array", "items": object{"type": "string"}}
	properties := object{
		"run": text, "ranks": object{"type": "array", "items": object{"type": "integer"}, "description": "Only these ranks; all by default."},
		"timeout_seconds": object{"type": "number", "maximum": mostPatience.Seconds(), "default": answersWithin.Seconds(), "description": "Longest wait for the ranks."},
	}
	if do == agent.DoCapture {
		properties["level"] = object{"type": "string", "enum": agent.Levels(), "default": "mix"}
		properties["steps"] = object{"type": "integer", "minimum": 1, "default": 2}
		properties["scope"], properties["requests"], properties["prompts"], properties["when"] = texts, texts, texts, texts
		properties["payload"] = object{"type": "boolean", "description": "Keep raw tensors on the ranks' hosts."}
		properties["payload_bytes"] = object{"type": "integer", "minimum": 1, "default": payloadBytes, "description": "Most bytes of raw tensors for each rank."}
	}
	return object{"type": "object", "required": []string{"run"}, "additionalProperties": false, "properties": properties}
}

// controlling asks the processes of a run.
func (a *API) controlling(do string) asking {
	return func(ctx context.Context, client *system.Client, w http.ResponseWriter, r *http.Request) error {
		d := deed{Level: "mix", Steps: 2, PayloadBytes: payloadBytes, TimeoutSeconds: answersWithin.Seconds()}
		if err := a.readBody(w, r, &d); err != nil {
			return err
		}
		request, err := d.request(do)
		if err != nil {
			return err
		}
		asked, err := client.AskFor(ctx, bearerOf(r).Name, d.Run, request, time.Duration(d.TimeoutSeconds*float64(time.Second)))
		if err != nil {
			return controlProblem(err)
		}
		return writeJSON(w, object{"answers": append([]agent.Answer{}, asked.Answers...), "silent": append([]uint32{}, asked.Silent...), "complete": isComplete(&asked)})
	}
}

// ofOperators answers operators alone.
func (a *API) ofOperators(next answering) answering {
	return func(w http.ResponseWriter, r *http.Request) error {
		switch {
		case !a.cfg.Control:
			return &problemError{Status: http.StatusForbidden, Sentence: "this server asks and changes nothing: it was started without --control"}
		case bearerOf(r).Role != tokens.Operator:
			return &problemError{Status: http.StatusForbidden, Sentence: "this is for operators: the token is a reader's"}
		}
		return next(w, r)
	}
}

// isComplete says whether all ranks do as they were asked.
func isComplete(asked *system.Asked) bool {
	refused := func(answer agent.Answer) bool { return answer.State == agent.StateRefused }
	return asked.Open() == 0 && !slices.ContainsFunc(asked.Answers, refused)
}

// request is what the processes are asked.
func (d *deed) request(do string) (agent.Request, error) {
	r := agent.Request{Do: do, Ranks: d.Ranks}
	switch {
	case d.Run == "":
		return r, wrong("run", "run is missing: want the name of a live run")
	case d.TimeoutSeconds <= 0 || d.TimeoutSeconds > mostPatience.Seconds():
		return r, wrong("timeout_seconds", "timeout_seconds %g: want more than 0, at most %g", d.TimeoutSeconds, mostPatience.Seconds())
	case do != agent.DoCapture:
		return r, nil
	}
	r.Level, r.Steps, r.Scope, r.Requests, r.Texts = d.Level, d.Steps, d.Scope, d.Requests, d.Prompts
	if d.Payload {
		r.MostBytes = d.PayloadBytes
	}
	if err := d.checkCapture(); err != nil {
		return r, err
	}
	when, err := conditions.ParseAll(d.When)
	if err == nil && when.Has(conditions.Difference) {
		err = errors.New("of a live run, tensortap watch --capture waits for a difference")
	}
	if err != nil {
		return r, wrong("when", "when: %v", err)
	}
	r.When = when.String()
	return r, nil
}

func (d *deed) checkCapture() error {
	blank := func(text string) bool { return strings.TrimSpace(text) == "" }
	switch {
	case !slices.Contains(agent.Levels(), d.Level):
		return wrong("level", "level %s: want %s", shortened(d.Level), strings.Join(agent.Levels(), ", "))
	case d.Steps < 1:
		return wrong("steps", "steps %d: want 1 or more", d.Steps)
	case d.PayloadBytes < 1:
		return wrong("payload_bytes", "payload_bytes %d: want 1 or more", d.PayloadBytes)
	case slices.ContainsFunc(d.Prompts, blank):
		return wrong("prompts", "prompts: want some text: white space alone is in every prompt")
	}
	return nil
}

// controlProblem says why nobody was asked.
func controlProblem(err error) error {
	if tooLong := (*agent.TextError)(nil); errors.As(err, &tooLong) {
		return wrong("", "%v", err)
	}
	switch {
	case errors.Is(err, system.ErrNobodyAsked):
		return &problemError{Status: http.StatusNotFound, Sentence: err.Error(), Parameter: "run"}
	case errors.Is(err, nats.ErrPermissionViolation):
		return &problemError{Status: http.StatusForbidden, Sentence: fmt.Sprintf("the NATS user of this server may not ask ranks: %v", err)}
	}
	return err
}
