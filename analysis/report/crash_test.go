package report

import (
	"math"
	"strconv"
	"strings"
	"testing"
)

// crashOf is the answer of report crash, from rows of NAME=VALUE.
func crashOf(rows ...map[string]string) *Crash {
	columns := []string{"rank", "how", "last_time_ns", "step", "op", "module", "op_seconds", "type", "message", "inputs", "requests", "signal", "memory_step", "host_resident_bytes", "last_lines", "pid", "host", "child", "idle_since_time_ns", "fatal"}
	c := &Crash{Run: "bad", Ranks: Table{Columns: columns}}
	for _, given := range rows {
		var row []Value
		for _, name := range columns {
			exact, there := given[name]
			number, err := strconv.ParseFloat(exact, 64)
			if err != nil {
				number = math.NaN()
			}
			row = append(row, Value{Exact: exact, JSON: exact, Null: !there, Number: number, Time: name == "last_time_ns"})
		}
		c.Ranks.Rows = append(c.Ranks.Rows, row)
	}
	return c
}

func TestTheFirstDeathIsToldBeforeTheOthers(t *testing.T) {
	t.Parallel()
	c := crashOf(
		map[string]string{
			"rank": "2", "how": "died", "last_time_ns": "1000000000", "step": "3", "op": "Functional.linear.5.forward", "module": "layers.1", "signal": "9",
			"inputs": "input.0: float32[2]\ninput.1: float32[3]", "requests": `["a prefill","b decode"]`, "memory_step": "2", "host_resident_bytes": "2097152", "pid": "77", "host": "here",
			"last_lines": `["one","two"]`,
		},
		map[string]string{"rank": "0", "how": "waiting", "step": "3", "op": "Distributed.all_reduce.0.forward", "op_seconds": "2.25"},
		map[string]string{"rank": "1", "how": "never heard of"},
	)
	var page strings.Builder
	if err := c.Write(&page, Style{}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"run bad: rank 2 was the first to go: it died by signal 9 in step 3, op Functional.linear.5.forward of module layers.1, at 1970-01-01 00:00:01 UTC\n",
		"  inputs       input.0: float32[2]; input.1: float32[3]\n", "  requests     a prefill, b decode\n",
		"  memory       after step 2, 2 MiB by the process\n", "  process      pid 77 on here\n",
		"  rank 0: died as it waited for others in step 3, op Distributed.all_reduce.0.forward, for 2.2 s\n",
		"  rank 1: never heard of before its first step\n", "  rank 2 | one\n  rank 2 | two\n", "  tensortap logs --run bad\n",
	} {
		if !strings.Contains(page.String(), want) {
			t.Errorf("the page lacks %q:\n%s", want, page.String())
		}
	}
}

func TestARunThatItsUserEndedWasStopped(t *testing.T) {
	t.Parallel()
	const asked = 100e9 // ns
	for name, c := range map[string]struct {
		row       map[string]string
		stoppedNs int64
		want      bool
	}{
		"interrupted, by who ran it elsewhere": {map[string]string{"how": "stopped", "type": "KeyboardInterrupt", "last_time_ns": "100000000000"}, 0, true},
		"died of it":                           {map[string]string{"how": "died", "last_time_ns": "99000000000"}, asked, true},
		"raised on its way out":                {map[string]string{"how": "raised", "last_time_ns": "101000000000"}, asked, true},
		"died before":                          {map[string]string{"how": "died", "last_time_ns": "40000000000"}, asked, false},
		"died, and nobody asked":               {map[string]string{"how": "died", "last_time_ns": "100000000000"}, 0, false},
		"ended":                                {map[string]string{"how": "ended", "last_time_ns": "100000000000"}, asked, false},
	} {
		c.row["rank"], c.row["step"] = "0", "3"
		crash := crashOf(c.row, map[string]string{"rank": "1", "how": "waiting", "step": "3"})
		crash.StoppedNs = c.stoppedNs
		told := strings.HasPrefix(crash.Headline(), "run bad was stopped by its user: rank 0 was in step 3, at 1970-01-01 00:01:")
		if crash.Stopped() != c.want || told != c.want {
			t.Errorf("%s: stopped %v, want %v; %s", name, crash.Stopped(), c.want, crash.Headline())
		}
	}
}

func TestARunOfWhichAllEndedHasNoCrash(t *testing.T) {
	t.Parallel()
	c := crashOf(map[string]string{"rank": "0", "how": "ended", "step": "3"})
	if c.Any() || c.Died() || c.Headline() != "run bad: no rank died or raised" || c.Details() != nil {
		t.Errorf("%v, %q, %q", c.Any(), c.Headline(), c.Details())
	}
}
