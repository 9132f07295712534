package resend

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// Generation is what a server made of one prompt.
type Generation struct {
	Request      string // the engine's name of the request
	Text         string
	Tokens       []Token // none where the server tells of none
	PromptTokens *int64  // nil when not known
}

// Token is a token of an answer.
type Token struct {
	Text    string
	ID      *int64 // nil where the API does not say
	Logprob float64
}

// same says whether it is the same token: ids tell more than texts, where both sides have them.
func (t Token) same(other Token) bool {
	if t.ID != nil && other.ID != nil {
		return *t.ID == *other.ID
	}
	return t.Text == other.Text
}

// answer is what servers answer: SGLang's own API has meta_info, those of OpenAI have choices.
type answer struct {
	ID      string   `json:"id"`
	Choices []choice `json:"choices"`
	Usage   struct {
		PromptTokens *int64 `json:"prompt_tokens"`
	} `json:"usage"`

	Text string `json:"text"`
	Meta *struct {
		ID           string            `json:"id"`
		PromptTokens *int64            `json:"prompt_tokens"`
		Logprobs     []json.RawMessage `json:"output_token_logprobs"`
	} `json:"meta_info"`
}

type choice struct {
	Index   int     `json:"index"`
	Text    *string `json:"text"`
	Message *struct {
		Content     *string `json:"content"`
		Reasoning   *string `json:"reasoning_content"` // of SGLang
		OfLaterVLLM *string `json:"reasoning"`
	} `json:"message"`
	Logprobs *struct {
		Tokens   []string   `json:"tokens"`
		Logprobs []*float64 `json:"token_logprobs"`
		Content  []struct {
			Token   string   `json:"token"`
			Logprob *float64 `json:"logprob"`
		} `json:"content"`
	} `json:"logprobs"`
}

// generationsOf are those of an answer, one for each prompt that was asked at once.
func generationsOf(text []byte) (all []Generation, err error) {
	var answers []answer
	if text = bytes.TrimSpace(text); bytes.HasPrefix(text, []byte("[")) {
		err = json.Unmarshal(text, &answers)
	} else {
		answers = make([]answer, 1)
		err = json.Unmarshal(text, &answers[0])
	}
	if err != nil {
		return nil, fmt.Errorf("its answer cannot be read: %w", err)
	}
	for i := range answers {
		all = append(all, answers[i].generations()...)
	}
	if len(all) == 0 {
		return nil, errors.New("its answer has no text: it is none of SGLang's API, nor of OpenAI's")
	}
	return all, nil
}

func (a *answer) generations() []Generation {
	if a.Meta != nil {
		return []Generation{{Request: a.Meta.ID, Text: a.Text, Tokens: tokensOfSGLang(a.Meta.Logprobs), PromptTokens: a.Meta.PromptTokens}}
	}
	all := make([]Generation, len(a.Choices))
	for i := range a.Choices {
		all[i] = a.Choices[i].generation(a.ID)
		if len(a.Choices) == 1 {
			all[i].PromptTokens = a.Usage.PromptTokens
		} else {
			all[i].Request = fmt.Sprintf("%s-%d", a.ID, a.Choices[i].Index)
		}
	}
	return all
}

func (c *choice) generation(id string) Generation {
	g := Generation{Request: id}
	if c.Text != nil {
		g.Text = *c.Text
	}
	if c.Message != nil {
		reasoning := c.Message.Reasoning // some releases of vLLM say it under both names
		if reasoning == nil || *reasoning == "" {
			reasoning = c.Message.OfLaterVLLM
		}
		for _, part := range []*string{reasoning, c.Message.Content} {
			if part != nil {
				g.Text += *part
			}
		}
	}
	if c.Logprobs == nil {
		return g
	}
	for i, text := range c.Logprobs.Tokens {
		if i < len(c.Logprobs.Logprobs) {
			g.Tokens = append(g.Tokens, Token{Text: text, Logprob: number(c.Logprobs.Logprobs[i])})
		}
	}
	for _, one := range c.Logprobs.Content {
		g.Tokens = append(g.Tokens, Token{Text: one.Token, Logprob: number(one.Logprob)})
	}
	return g
}

// tokensOfSGLang are triples: log probability, id, text or null.
func tokensOfSGLang(triples []json.RawMessage) []Token {
	var tokens []Token
	for _, triple := range triples {
		var (
			logprob *float64
			id      *int64
			text    *string
		)
		if json.Unmarshal(triple, &[]any{&logprob, &id, &text}) != nil {
			return nil
		}
		t := Token{ID: id, Logprob: number(logprob)}
		if text != nil {
			t.Text = *text
		}
		tokens = append(tokens, t)
	}
	return tokens
}
