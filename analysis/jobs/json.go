package jobs

import (
	"encoding/json"
	"io"
	"math"
)

// JSON writes one object: the summary by verdict and, of each pair, the answer.
func JSON(to io.Writer, results []Result) error {
	encoder := json.NewEncoder(to)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	return encoder.Encode(answersOf(results))
}

type answers struct {
	Status int             `json:"status"`
	Counts map[Verdict]int `json:"counts"`
	Jobs   []answer        `json:"jobs"`
}

type answer struct {
	Name           string       `json:"name"`
	Verdict        Verdict      `json:"verdict"`
	Problem        string       `json:"problem"`
	Benches        []string     `json:"benches"`
	UnknownBecause string       `json:"unknown_because,omitempty"`
	Error          string       `json:"error,omitempty"`
	Warnings       []string     `json:"warnings"`
	Origins        []originJSON `json:"origins"`
	Counts         counts       `json:"counts"`
	ElapsedSeconds float64      `json:"elapsed_seconds"`
}

type originJSON struct {
	Rank      uint32 `json:"rank"`
	Step      uint32 `json:"step"`
	Op        string `json:"op"`
	Module    string `json:"module"`
	Role      string `json:"role"`
	Path      string `json:"path"`
	Kind      string `json:"kind"`
	Verdict   string `json:"verdict"`
	Error     any    `json:"error"`
	Tolerance any    `json:"tolerance"`
}

type counts struct {
	Paired      uint64 `json:"paired"`
	OnlyProblem uint64 `json:"only_problem"`
	OnlyBench   uint64 `json:"only_bench"`
	Unknown     uint64 `json:"unknown"`
	Differing   uint64 `json:"differing"`
}

func answersOf(results []Result) answers {
	all := answers{Status: Status(results), Counts: map[Verdict]int{Same: 0, Differs: 0, Unknown: 0, Failed: 0, Skipped: 0}, Jobs: []answer{}}
	for i := range results {
		all.Counts[results[i].Verdict]++
		all.Jobs = append(all.Jobs, answerOf(&results[i]))
	}
	return all
}

func answerOf(r *Result) answer {
	a := answer{
		Name: r.Name, Verdict: r.Verdict, Problem: r.Problem, Benches: append([]string{}, r.Benches...), UnknownBecause: r.Because,
		Warnings: append([]string{}, r.Warnings...), Counts: counts(r.Counts), Origins: []originJSON{}, ElapsedSeconds: r.Elapsed.Seconds(),
	}
	if r.Err != nil {
		a.Error = r.Err.Error()
	}
	for _, o := range r.Origins {
		a.Origins = append(a.Origins, originJSON{
			Rank: o.Rank, Step: o.Step, Op: o.Op, Module: o.Module, Role: o.Role, Path: o.Path, Kind: o.Kind, Verdict: o.Verdict,
			Error: finite(o.Error), Tolerance: finite(o.Tolerance),
		})
	}
	return a
}

// finite is a number as JSON can hold it: null for NaN, text for an infinite one.
func finite(v float64) any {
	switch {
	case math.IsNaN(v):
		return nil
	case math.IsInf(v, 1):
		return "Infinity"
	case math.IsInf(v, -1):
		return "-Infinity"
	}
	return v
}
