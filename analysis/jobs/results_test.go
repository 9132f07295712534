package jobs_test

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"math"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tensortap/tensortap/analysis/jobs"
)

// hostile has what breaks XML, tables, terminals and mentions.
const hostile = "a|b\x1b[31m<b>`x` \x00 \u202e @team ]]> \"q\" '&amp;' \xff\nnext"

func pair(name string) jobs.Pair {
	return jobs.Pair{Job: jobs.Job{Name: name, Problem: "p", Benches: []string{"b"}}}
}

func some() []jobs.Result {
	differs := jobs.Outcome{
		Verdict: jobs.Differs, Report: "differs " + hostile, Counts: jobs.Counts{Paired: 9, Differing: 2},
		Origins: []jobs.Origin{
			{Rank: 1, Step: 7, Op: "Functional.linear.3.forward", Role: "output", Path: "0", Kind: "computed", Verdict: "diverged", Error: 0.25, Tolerance: 1e-3},
			{Op: hostile, Kind: "parameter", Error: math.Inf(1), Tolerance: math.NaN()},
		},
	}
	notFinite := jobs.Outcome{Verdict: jobs.Differs, Origins: []jobs.Origin{{Op: hostile, Error: math.NaN(), Tolerance: math.Inf(1)}}}
	return []jobs.Result{
		{Pair: pair("plain"), Outcome: jobs.Outcome{Verdict: jobs.Same, Counts: jobs.Counts{Paired: 3, OnlyBench: 1}}, Elapsed: 1500 * time.Millisecond},
		{Pair: pair("plain"), Outcome: differs},
		{Pair: pair(hostile), Outcome: notFinite},
		{Pair: pair("open"), Outcome: jobs.Outcome{Verdict: jobs.Unknown, Because: "no step in common " + hostile}},
		{Pair: pair("lost"), Outcome: jobs.Outcome{Verdict: jobs.Failed}, Err: errors.New("read " + hostile + ": no such file")},
	}
}

type suites struct {
	Suites []struct {
		Name     string  `xml:"name,attr"`
		Tests    int     `xml:"tests,attr"`
		Failures int     `xml:"failures,attr"`
		Errors   int     `xml:"errors,attr"`
		Time     float64 `xml:"time,attr"`
		Cases    []struct {
			Name    string  `xml:"name,attr"`
			Class   string  `xml:"classname,attr"`
			Time    float64 `xml:"time,attr"`
			Failure *fault  `xml:"failure"`
			Error   *fault  `xml:"error"`
		} `xml:"testcase"`
	} `xml:"testsuite"`
}

type fault struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr"`
	Text    string `xml:",chardata"`
}

func TestJUnitIsReadByAParserWhateverTheNames(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	if err := jobs.JUnit(&out, hostile, some()); err != nil {
		t.Fatal(err)
	}
	var read suites
	if err := xml.Unmarshal(out.Bytes(), &read); err != nil {
		t.Fatalf("parse: %v\n%s", err, out.String())
	}
	s := read.Suites[0]
	if s.Tests != 5 || s.Failures != 2 || s.Errors != 2 || s.Time != 1.5 || len(s.Cases) != 5 {
		t.Errorf("suite reads as %+v", s)
	}
	if f := s.Cases[1].Failure; f == nil || f.Type != "differs" || f.Message != "rank 1 step 7 Functional.linear.3.forward output 0: computed, diverged, error 0.25, tolerance 0.001 and 1 more" || !strings.HasPrefix(f.Text, "differs a|b") {
		t.Errorf("failure reads as %+v", f)
	}
	if s.Cases[0].Failure != nil || s.Cases[0].Error != nil || s.Cases[0].Time != 1.5 {
		t.Errorf("the same reads as %+v", s.Cases[0])
	}
	if e := s.Cases[4].Error; e == nil || e.Type != "error" || !strings.Contains(e.Message, "no such file") {
		t.Errorf("error reads as %+v", e)
	}
	if strings.ContainsAny(out.String(), "\x00\x1b\u202e") {
		t.Error("characters are left that a terminal obeys")
	}
}

func TestJUnitOfNothingIsAnEmptySuite(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	if err := jobs.JUnit(&out, "none", nil); err != nil {
		t.Fatal(err)
	}
	var read suites
	if err := xml.Unmarshal(out.Bytes(), &read); err != nil || read.Suites[0].Tests != 0 {
		t.Errorf("parse = %v, %+v", err, read)
	}
}

func TestJSONHoldsNumbersThatAreNotFinite(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	if err := jobs.JSON(&out, some()); err != nil {
		t.Fatal(err)
	}
	var read struct {
		Status int
		Counts map[string]int
		Jobs   []struct {
			Name, Verdict, Error string
			UnknownBecause       string `json:"unknown_because"`
			Origins              []struct{ Error, Tolerance any }
		}
	}
	if err := json.Unmarshal(out.Bytes(), &read); err != nil {
		t.Fatal(err)
	}
	if read.Status != 2 || read.Counts["differs"] != 2 || read.Counts["same"] != 1 || len(read.Jobs) != 5 {
		t.Errorf("reads as %+v", read)
	}
	if o := read.Jobs[1].Origins[1]; o.Error != "Infinity" || o.Tolerance != nil {
		t.Errorf("origin reads as %+v", o)
	}
	if read.Jobs[4].Error == "" || read.Jobs[3].UnknownBecause == "" {
		t.Errorf("reasons are lost: %+v", read.Jobs)
	}
}

func TestMarkdownKeepsARowOnALineAndObeysNoName(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	if err := jobs.Markdown(&out, some()); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 2+2+5 {
		t.Fatalf("got %d lines:\n%s", len(lines), out.String())
	}
	for _, line := range lines[4:] {
		if n := strings.Count(strings.ReplaceAll(line, `\|`, ""), "|"); n != 7 {
			t.Errorf("%d bars, want 7: %s", n, line)
		}
	}
	if strings.Contains(lines[7], "@team") || strings.Contains(lines[8], "<b>") || strings.Contains(out.String(), "\x1b") {
		t.Errorf("mark-up is left:\n%s", out.String())
	}
	if want := "| **differs** | plain | rank 1, step 7, `Functional.linear.3.forward output 0`: computed and 1 more | 0.25 | 0.001 | 0.00 s |"; lines[5] != want {
		t.Errorf("got  %s\nwant %s", lines[5], want)
	}
}

func TestTextWritesALineForEachPair(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	if err := jobs.Text(&out, some()); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 5+2 || lines[6] != "5 compared: 1 same, 2 differ, 1 unknown, 1 failed" {
		t.Errorf("got\n%s", out.String())
	}
	if strings.ContainsAny(out.String(), "\x00\x1b\u202e") {
		t.Error("characters are left that a terminal obeys")
	}
}

func TestRunGoesOnAfterAFailureAndKeepsTheOrder(t *testing.T) {
	t.Parallel()
	pairs := []jobs.Pair{pair("0"), pair("1"), pair("2"), pair("3")}
	pairs[1].Fault = errors.New("no folder")
	var calls, atOnce, most atomic.Int32
	compare := func(_ context.Context, p jobs.Pair) (jobs.Outcome, error) {
		calls.Add(1)
		most.Store(max(most.Load(), atOnce.Add(1)))
		defer atOnce.Add(-1)
		if p.Name == "2" {
			return jobs.Outcome{}, errors.New("broken dump")
		}
		return jobs.Outcome{Verdict: jobs.Same}, nil
	}
	results := jobs.Run(t.Context(), pairs, jobs.Config{Parallel: 2, Now: time.Now}, compare)
	var got string
	for _, r := range results {
		got += r.Name + " " + string(r.Verdict) + ", "
	}
	if got != "0 same, 1 error, 2 error, 3 same, " || calls.Load() != 3 || most.Load() > 2 {
		t.Errorf("got %s after %d calls, %d at once", got, calls.Load(), most.Load())
	}
}

func TestRunFailsWhatItsContextLeaves(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	compare := func(context.Context, jobs.Pair) (jobs.Outcome, error) {
		cancel()
		return jobs.Outcome{Verdict: jobs.Same}, nil
	}
	results := jobs.Run(ctx, []jobs.Pair{pair("a"), pair("b")}, jobs.Config{Parallel: 1, Now: time.Now}, compare)
	if results[0].Err != nil || !errors.Is(results[1].Err, context.Canceled) {
		t.Errorf("got %v and %v", results[0].Err, results[1].Err)
	}
}

func TestStatusIsThatOfTheWorst(t *testing.T) {
	t.Parallel()
	all := some()
	for name, c := range map[string]struct {
		results []jobs.Result
		want    int
	}{
		"nothing": {nil, 2}, "same": {all[:1], 0}, "differs": {all[:3], 1}, "unknown": {all[:4], 2}, "failed": {[]jobs.Result{all[0], all[4]}, 2},
	} {
		if got := jobs.Status(c.results); got != c.want {
			t.Errorf("Status of %s = %d, want %d", name, got, c.want)
		}
	}
}
