package resend

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/tensortap/tensortap/producers/requests"
)

// Routes whose requests and answers are known.
const (
	routeGenerate    = "/generate"
	routeCompletions = "/v1/completions"
	routeChat        = "/v1/chat/completions"
)

// rewrite takes out of a request what is left to chance, and what a server takes once only, such as a name.
func (c *Config) rewrite(route string, body json.RawMessage) ([]byte, error) {
	if body == nil {
		return nil, errors.New(requests.NotKept)
	}
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber() // ids of tokens and seeds stay as they are
	var asked map[string]any
	if err := decoder.Decode(&asked); err != nil {
		return nil, fmt.Errorf("its body is no JSON object: %w", err)
	}
	for _, name := range []string{"rid", "request_id", "stream_options"} {
		delete(asked, name)
	}
	if _, named := asked["model"]; named && c.Model != "" {
		asked["model"] = c.Model
	}
	switch route {
	case routeGenerate:
		c.rewriteGenerate(asked)
	case routeCompletions, routeChat:
		c.rewriteOpenAI(route, asked)
	default:
		c.rewriteOther(asked)
	}
	return json.Marshal(asked)
}

// rewriteGenerate is for SGLang's own API.
func (c *Config) rewriteGenerate(asked map[string]any) {
	greedy := func(value any) any {
		sampling, ok := value.(map[string]any)
		if !ok {
			sampling = map[string]any{}
		}
		sampling["temperature"], sampling["sampling_seed"] = 0, c.Seed
		return sampling
	}
	if several, ok := asked["sampling_params"].([]any); ok {
		for i := range several {
			several[i] = greedy(several[i])
		}
	} else {
		asked["sampling_params"] = greedy(asked["sampling_params"])
	}
	asked["stream"] = false
	for _, name := range []string{"logprob_start_len", "top_logprobs_num", "token_ids_logprob", "return_hidden_states", "return_logprob"} {
		delete(asked, name) // which make answers large
	}
	if c.Logprobs {
		asked["return_logprob"], asked["return_text_in_logprobs"] = true, true
	}
}

// rewriteOpenAI is for the APIs of OpenAI, which both engines have.
func (c *Config) rewriteOpenAI(route string, asked map[string]any) {
	asked["temperature"], asked["seed"], asked["stream"] = 0, c.Seed, false
	delete(asked, "top_logprobs")
	delete(asked, "logprobs")
	switch {
	case !c.Logprobs:
	case route == routeChat:
		asked["logprobs"] = true
	default:
		asked["logprobs"] = 1
	}
}

// rewriteOther changes of a request of unknown form what is there.
func (c *Config) rewriteOther(asked map[string]any) {
	for name, value := range map[string]any{"temperature": 0, "seed": c.Seed, "stream": false} {
		if _, there := asked[name]; there {
			asked[name] = value
		}
	}
}

// isGreedy says whether nothing was left to chance in the request as it was recorded: else its answer would be another one
// each time.
func isGreedy(body json.RawMessage) bool {
	var asked struct {
		Temperature *float64        `json:"temperature"`
		Sampling    json.RawMessage `json:"sampling_params"`
	}
	if json.Unmarshal(body, &asked) != nil {
		return false
	}
	if asked.Sampling == nil {
		return asked.Temperature != nil && *asked.Temperature == 0
	}
	var several []json.RawMessage
	if json.Unmarshal(asked.Sampling, &several) != nil {
		several = []json.RawMessage{asked.Sampling}
	}
	for _, one := range several {
		var sampling struct {
			Temperature *float64 `json:"temperature"`
			TopK        *float64 `json:"top_k"`
		}
		err := json.Unmarshal(one, &sampling)
		if err != nil || (sampling.Temperature == nil || *sampling.Temperature != 0) && (sampling.TopK == nil || *sampling.TopK != 1) {
			return false
		}
	}
	return len(several) > 0
}
