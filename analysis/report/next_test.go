package report

import (
	"slices"
	"strconv"
	"strings"
	"testing"
)

// counted is a summary of one rank and step in which each of these columns is 1.
func counted(columns ...string) Table {
	row := make([]Value, len(columns))
	for i := range columns {
		row[i] = Value{Exact: "1", Number: 1}
	}
	return Table{Columns: columns, Rows: [][]Value{row}}
}

// summed is a summary with a row for each step, in which so many tensors stand alone.
func summed(alone ...int) Table {
	t := Table{Columns: []string{"step", "paired_count", "measured_count", "alone_unknown_count", "unknown_count"}}
	for step, n := range alone {
		count := Value{Exact: strconv.Itoa(n), Number: float64(n)}
		one := Value{Exact: "1", Number: 1}
		t.Rows = append(t.Rows, []Value{{Number: float64(step)}, one, one, count, count})
	}
	return t
}

// originOf is an origin of these values, at step 3 of rank 1.
func originOf(kind, op, module string) Table {
	return Table{
		Columns: []string{"op", "step", "rank", "kind", "module"},
		Rows:    [][]Value{{{Exact: op}, {Exact: "3"}, {Exact: "1"}, {Exact: kind}, {Exact: module}}},
	}
}

func recordedBy(source, level, task string) [2]Recorded {
	both := Recorded{Source: source, Level: level, Task: task}
	return [2]Recorded{both, both}
}

func live(level string) [2]Recorded {
	both := Recorded{Source: "collector", Level: level, Live: true}
	return [2]Recorded{both, both}
}

func apart(problem, bench []uint32) [2]Recorded {
	return [2]Recorded{{Steps: problem}, {Steps: bench}}
}

// flagged is a comparison that was asked for with most of the flags.
func flagged(mapping string) Asked {
	return Asked{Benches: []string{"a, b"}, Tolerance: "0.001", Rank: "0", Steps: "3-5", StepOffset: -2, Strict: true, Map: mapping}
}

func TestEachVerdictEndsWithWhatToDoNext(t *testing.T) {
	t.Parallel()
	const module = "Module.layers.1.attention.out.Linear.forward.0"
	incomplete := Table{Columns: []string{"run", "rank", "complete", "explanation"}, Rows: [][]Value{{{Exact: "bad"}, {Exact: "0"}, {Exact: "false"}, {Exact: "lost"}}}}
	for name, c := range map[string]struct {
		Comparison

		want []string // beginnings of the lines
	}{
		"the same by raw tensors":             {Comparison{Verdict: Same, Summary: counted("proved_equal_count")}, nil},
		"the same, of one a part hidden":      {Comparison{Verdict: Same, Summary: counted("within_count"), Recorded: [2]Recorded{{Hidden: []Hidden{{Reason: "compiled"}}}, {}}}, []string{"record bad again with tensortap run --eager"}},
		"a difference, parts hidden":          {Comparison{Verdict: Differs, Origins: originOf("computed", module, "layers.1"), Recorded: [2]Recorded{{Hidden: []Hidden{{Reason: "compiled"}}}, {Hidden: []Hidden{{Reason: "cuda graph"}}}}}, []string{"tensortap explain", "tensortap compare bad 'a good' --limit 100", "record both again with tensortap run --eager"}},
		"the same within tolerance":           {Comparison{Verdict: Same, Summary: counted("within_count")}, nil},
		"the same by statistics":              {Comparison{Verdict: Same, Summary: counted("agrees_count"), Recorded: recordedBy("collector", "mix", "statistics")}, []string{"record both with sketches or digests"}},
		"the same by msProbe's statistics":    {Comparison{Verdict: Same, Recorded: recordedBy("msprobe", "mix", "statistics")}, []string{`dump both with "task": "tensor" in config.json and add --payload`}},
		"the same, with raw tensors there":    {Comparison{Verdict: Same, Recorded: recordedBy("msprobe", "mix", "tensor")}, []string{"tensortap compare bad 'a good' --payload"}},
		"the same, stored, with raw tensors":  {Comparison{Verdict: Same, Stored: true, Recorded: recordedBy("sglang-dumper", "", "tensor")}, []string{"tensortap compare bad 'a good' --payload --problem-dir DIR --bench-dir DIR"}},
		"the same so far":                     {Comparison{Verdict: Same, Stored: true, Recorded: live("L0")}, []string{"tensortap capture --run bad --steps 2", "tensortap capture --run 'a good' --steps 2"}},
		"nothing there":                       {Comparison{Verdict: Unknown}, []string{"leave out --steps and --rank, or record a step"}},
		"other steps":                         {Comparison{Verdict: Unknown, Summary: counted("unknown_count", "alone_unknown_count"), Recorded: apart([]uint32{4, 5}, []uint32{1, 2})}, []string{"tensortap compare bad 'a good' --step-offset -3"}},
		"other ranks":                         {Comparison{Verdict: Unknown, Summary: counted("unknown_count", "alone_unknown_count"), Recorded: apart([]uint32{4}, []uint32{4})}, []string{"record the same steps and ranks"}},
		"other names":                         {Comparison{Verdict: Unknown, Stored: true, Summary: counted("only_problem_count")}, []string{"tensortap compare bad 'a good' --suggest-map > map.yaml", "tensortap compare bad 'a good' --map map.yaml", "tensortap report unpaired --problem bad --bench 'a good'"}},
		"other names than the map's":          {Comparison{Verdict: Unknown, Asked: Asked{Map: "m.yaml"}, Summary: counted("only_problem_count")}, []string{"correct the lines of m.yaml"}},
		"garbage":                             {Comparison{Verdict: Unknown, WarningCount: 1, Summary: counted("only_problem_count")}, []string{"put right what the warnings name"}},
		"names and shapes":                    {Comparison{Verdict: Unknown, Summary: counted("paired_count")}, []string{"record both with statistics"}},
		"a run that lost something":           {Comparison{Verdict: Unknown, Stored: true, Summary: counted("paired_count", "measured_count"), Completeness: incomplete}, []string{"tensortap report completeness --run bad", "tensortap report completeness --run 'a good'"}},
		"a run that goes on":                  {Comparison{Verdict: Unknown, Stored: true, Summary: counted("paired_count", "measured_count"), Completeness: incomplete, Recorded: live("mix")}, []string{"wait until both runs have ended"}},
		"a step more":                         {Comparison{Verdict: Unknown, Summary: summed(0, 0, 5), Recorded: apart([]uint32{0, 1, 2}, []uint32{0, 1})}, []string{"tensortap compare bad 'a good' --steps 0-1"}},
		"a step less":                         {Comparison{Verdict: Unknown, Summary: summed(0, 5), Recorded: apart([]uint32{0, 1}, []uint32{0})}, []string{"tensortap compare bad 'a good' --steps 0"}},
		"a rank more":                         {Comparison{Verdict: Unknown, Summary: summed(5, 5), Recorded: apart([]uint32{0, 1}, []uint32{0, 1})}, []string{"record the same steps and ranks"}},
		"checksums":                           {Comparison{Verdict: Unknown, Summary: counted("paired_count", "measured_count", "bits_differ_count"), Recorded: recordedBy("msprobe", "L1", "md5")}, []string{`dump both with "task": "tensor"`}},
		"NaN without partner":                 {Comparison{Verdict: Unknown, BadAlone: [2]uint64{1, 1}, Summary: counted("paired_count", "measured_count", "alone_unknown_count", "unknown_count")}, []string{"tensortap overflow bad", "tensortap overflow 'a good'", "record the same steps"}},
		"NaN on both sides":                   {Comparison{Verdict: Unknown, Summary: counted("paired_count", "measured_count", "same_not_finite_count")}, []string{"tensortap overflow bad"}},
		"memory that nobody wrote":            {Comparison{Verdict: Unknown, Summary: counted("unknown_count", "measured_count")}, []string{"record more of both runs"}},
		"stored runs":                         {Comparison{Verdict: Differs, Stored: true, Origins: originOf("computed", module, "layers.1")}, []string{"tensortap explain --problem bad --bench 'a good' --op " + module, "tensortap report divergence"}},
		"several steps":                       {Comparison{Verdict: Differs, Recorded: apart([]uint32{2, 3}, nil), Origins: originOf("computed", "mul", "")}, []string{"tensortap explain --problem bad --bench 'a good' --op mul --step 3 --rank 1", "tensortap compare bad 'a good' --limit 100 --output csv"}},
		"asked by flags, stored":              {Comparison{Verdict: Differs, Stored: true, Asked: flagged(""), Origins: originOf("computed", "mul", "")}, []string{"tensortap explain --problem bad --bench 'a good' --bench 'a, b' --tolerance 0.001 --step-offset -2 --op mul --step 3 --rank 1", `tensortap report divergence --problem bad --bench 'a good' --benches '"a, b"' --tolerance 0.001 --step-offset -2 --rank 0 --steps 3-5 --texts 0`}},
		"asked by flags, folders":             {Comparison{Verdict: Differs, Asked: flagged("m.yaml"), Origins: originOf("computed", "mul", "")}, []string{"tensortap compare bad 'a good' 'a, b' --tolerance 0.001 --step-offset -2 --map m.yaml --rank 0 --steps 3-5 --strict --limit 100 --output csv"}},
		"asked by flags, a step more":         {Comparison{Verdict: Unknown, Asked: Asked{Rank: "0", Steps: "0-2"}, Summary: summed(0, 0, 5), Recorded: apart([]uint32{0, 1, 2}, []uint32{0, 1})}, []string{"tensortap compare bad 'a good' --rank 0 --steps 0-1"}},
		"other data":                          {Comparison{Verdict: Differs, Stored: true, Origins: originOf("data", module, "")}, []string{"tensortap explain", "tensortap report divergence", "give both the same inputs"}},
		"modules, live":                       {Comparison{Verdict: Differs, Stored: true, Recorded: live("L0"), Origins: originOf("computed", module, "layers.1.attention.out")}, []string{"tensortap explain", "tensortap report", "tensortap capture --run bad --rank 1 --steps 2 --level mix --scope layers.1.attention.out", "tensortap capture --run 'a good' --rank 1"}},
		"calls, live":                         {Comparison{Verdict: Differs, Stored: true, Recorded: live("mix"), Origins: originOf("computed", "Torch.mul.0.forward", "a[0]")}, []string{"tensortap explain", "tensortap report", "tensortap capture --run bad --rank 1 --steps 2 --payload --scope 'a[[]0]'", "tensortap capture"}},
		"modules, ended":                      {Comparison{Verdict: Differs, Stored: true, Recorded: recordedBy("collector", "L0", ""), Origins: originOf("unseen_input", module, "layers.1.attention.out")}, []string{"tensortap explain", "tensortap report", "record both again with tensortap run --level mix --scope layers.1.attention"}},
		"calls, ended":                        {Comparison{Verdict: Differs, Stored: true, Recorded: recordedBy("collector", "mix", ""), Origins: originOf("computed", module, "layers.1")}, []string{"tensortap explain", "tensortap report"}},
		"dumps of modules":                    {Comparison{Verdict: Differs, Recorded: recordedBy("msprobe", "L0", ""), Origins: originOf("computed", module, "layers.1.attention.out")}, []string{"tensortap explain --problem bad", "tensortap compare bad", `dump both again with "step": [3], "level": "mix", "statistics": {"list": ["Module.layers.1.attention.out."]}`}},
		"dumps of modules, an unseen input":   {Comparison{Verdict: Differs, Recorded: recordedBy("msprobe", "L0", ""), Origins: originOf("unseen_input", module, "layers.1.attention.out")}, []string{"tensortap explain --problem bad", "tensortap compare", `dump both again with "step": [3], "level": "mix", "statistics": {"list": ["Module.layers.1.attention."]}`}},
		"dumps of calls":                      {Comparison{Verdict: Differs, Recorded: recordedBy("msprobe", "L1", ""), Origins: originOf("computed", "Functional.linear.2.forward", "-")}, []string{"tensortap explain --problem bad", "tensortap compare", `dump both again with "step": [3], "task": "tensor", "tensor": {"list": ["Functional.linear.2."]}`}},
		"tokens alone":                        {Comparison{Verdict: Unknown, Stored: true, Tokens: TokenRows{Places: true}, Summary: summed()}, []string{"tokens pair by prompt, sample and position: tensortap compare bad 'a good' --by token"}},
		"tokens, and tensors of other names":  {Comparison{Verdict: Unknown, Stored: true, Tokens: TokenRows{Places: true}, Summary: counted("only_problem_count")}, []string{"tokens pair by", "tensortap compare bad 'a good' --suggest-map", "tensortap compare", "tensortap report unpaired"}},
		"tokens, and a loss that is the same": {Comparison{Verdict: Same, Stored: true, Tokens: TokenRows{Places: true}, Summary: counted("agrees_count"), Recorded: recordedBy("collector", "tokens", "")}, []string{"tokens pair by"}},
		"a rollout that is not its trainer":   {Comparison{Verdict: Differs, Stored: true, Tokens: TokenRows{Told: true}, Origins: originOf("computed", module, "layers.1")}, []string{"tensortap explain", "tensortap report divergence", "log-probabilities pair by step, prompt, sample and position: tensortap report logprobs --problem bad --bench 'a good'"}},
		"what one run has alone, strictly so": {Comparison{Verdict: Differs, Strict: true, Stored: true, Summary: counted("only_problem_count")}, []string{"tensortap report unpaired"}},
	} {
		c.Benches, c.ProblemArgument, c.BenchArgument = []string{"a good"}, "bad", "'a good'"
		got := c.Next(Style{})
		begins := func(line, with string) bool { return strings.HasPrefix(line, with) }
		if !slices.EqualFunc(got, c.want, begins) {
			t.Errorf("%s: next is\n%s\nwant\n%s", name, strings.Join(got, "\n"), strings.Join(c.want, "\n"))
		}
	}
}

func TestAnOriginNamesItsMicroStepWhereItsStepHasSeveral(t *testing.T) {
	t.Parallel()
	for count, want := range map[int]string{1: "step 0, rank 0, op mul\n", 4: "step 0, rank 0, micro step 3 of 4, op mul\n"} {
		c := Comparison{Verdict: Differs, Benches: []string{"good"}, Origins: Table{
			Columns: []string{"op", "step", "rank", "micro_step", "micro_step_count"},
			Rows:    [][]Value{{{Exact: "mul"}, {Exact: "0"}, {Exact: "0"}, {Number: 2}, {Number: float64(count)}}},
		}}
		var text strings.Builder
		if err := c.WriteNote(&text, Style{}); err != nil || !strings.Contains(text.String(), want) {
			t.Errorf("%v, want %q in\n%s", err, want, text.String())
		}
	}
}
