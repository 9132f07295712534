package report

import "github.com/tensortap/tensortap/schemas"

// Observed is one sentence: the level of a run, the parts of the program that it sees, and those that it does not see. No
// report can say anything of the latter. Empty where the level is not known.
func (r *Recorded) Observed() string {
	switch r.Source {
	case schemas.SourceCollector:
		return ofLevel(r.Level, map[string]string{
			"L0":     "modules and the loss; functional ops between them are not observed",
			"L1":     "the APIs that msProbe lists and the loss; other functions and kernels are not observed",
			"mix":    "modules, the APIs that msProbe lists and the loss; other functions and kernels are not observed",
			"aten":   "ops of PyTorch's dispatcher and the loss; the values of ops that are only counted are not observed",
			"debug":  "what the program saves and the loss; nothing else is observed",
			"tokens": "tokens at places of the model, which report tokens compares, and the loss; nothing else is observed",
		})
	case schemas.SourceMsprobe:
		return ofLevel(r.Level, map[string]string{
			"L0":    "modules; functional ops between them and the loss are not observed",
			"L1":    "the APIs that msProbe lists; other functions and kernels are not observed",
			"mix":   "modules and the APIs that msProbe lists; other functions and kernels are not observed",
			"debug": "what the program saves; nothing else is observed",
		})
	}
	return ""
}

func ofLevel(level string, sees map[string]string) string {
	if sees[level] == "" {
		return ""
	}
	return "level " + level + " sees " + sees[level]
}

// observed is one sentence for both runs where it holds of both.
func (c *Comparison) observed() string {
	problem, bench := c.Recorded[0].Observed(), c.Recorded[1].Observed()
	switch {
	case problem == bench || bench == "":
		return problem
	case problem == "":
		return bench
	}
	return "problem: " + problem + "; bench: " + bench
}
