package report

// TokenRows says what both runs have of tokens, which no comparison of tensors looks at.
type TokenRows struct {
	Places bool `json:"places"` // tokens at places of the model, as of level tokens
	Told   bool `json:"told"`   // log-probabilities of tokens that the programs told of
}

func (t TokenRows) any() bool { return t.Places || t.Told }

// onlyTokens says whether the runs have tokens, and nothing that is compared here.
func (c *Comparison) onlyTokens() bool {
	tally := c.Summary.Tally()
	return c.Tokens.any() && tally.Paired+tally.Unknown+tally.OnlyProblem+tally.OnlyBench == 0
}

// byToken says how tokens of both runs are compared.
func (a *advice) byToken() {
	if a.Tokens.Places {
		a.say("tokens pair by prompt, sample and position: %s compare %s %s --by token", a.style.program(), a.ProblemArgument, a.BenchArgument)
	}
	if a.Tokens.Told {
		a.say("log-probabilities pair by step, prompt, sample and position: %s report logprobs --problem %s --bench %s",
			a.style.program(), a.ProblemArgument, a.BenchArgument)
	}
}
