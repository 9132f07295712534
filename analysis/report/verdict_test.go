package report

import (
	"strings"
	"testing"
)

func TestAVerdictIsUnknownForOneReason(t *testing.T) {
	t.Parallel()
	all := Tally{Places: 2, Paired: 10, Measured: 10}
	for _, c := range []struct {
		alter    func(*Tally)
		complete bool
		want     Verdict
		because  string
	}{
		{func(*Tally) {}, true, Same, ""},
		{func(*Tally) {}, false, Unknown, "not all is there"},
		{func(t *Tally) { *t = Tally{} }, true, Unknown, "neither run has tensors"},
		{func(t *Tally) { *t = Tally{Places: 2, Unknown: 10, AloneUnknown: 10} }, true, Unknown, "no tensor is in both runs"},
		{func(t *Tally) { t.Measured = 0 }, true, Unknown, "nothing was measured"},
		{func(t *Tally) { t.AloneUnknown, t.Unknown = 1, 1 }, true, Unknown, "1 tensor stand alone"},
		{func(t *Tally) { t.Paired, t.Unknown, t.BitsDiffer = 0, 10, 10 }, true, Unknown, "10 tensors have the same statistics but other bits"},
		{func(t *Tally) { t.SameNotFinite = 2 }, true, Unknown, "2 tensors hold NaN or infinity on both sides"},
		{func(t *Tally) { t.OnlyProblem, t.OnlyBench = 11, 11 }, true, Unknown, "most have no partner: 11 are only in the problem, 11 only in the bench"},
		{func(t *Tally) { t.OnlyProblem, t.OnlyBench = 1, 5000 }, true, Same, ""},
		{func(t *Tally) { t.Paired, t.Unknown = 0, 10 }, true, Unknown, "differs by chance"},
		{func(t *Tally) { t.Differing, t.BitsDiffer = 1, 3 }, false, Differs, ""},
	} {
		tally := all
		c.alter(&tally)
		got, because := tally.Judge(c.complete)
		if got != c.want || !strings.Contains(because, c.because) || (because == "") != (c.because == "") {
			t.Errorf("%+v.Judge(%t) = %s, %q; want %s, %q", tally, c.complete, got, because, c.want, c.because)
		}
	}
}

func TestTalliesAddUp(t *testing.T) {
	t.Parallel()
	sum := Tally{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}.Plus(Tally{10, 20, 30, 40, 50, 60, 70, 80, 90, 100})
	if want := (Tally{11, 22, 33, 44, 55, 66, 77, 88, 99, 110}); sum != want {
		t.Errorf("sum %+v, want %+v", sum, want)
	}
}

func TestNothingIsTheSameWhereDamageMayHideAPartner(t *testing.T) {
	t.Parallel()
	c := Comparison{Damage: []string{"construct.json at byte 7: the file ends inside a value"}}
	c.Summary = counted("paired_count", "measured_count", "only_problem_count", "only_bench_count")
	if verdict, because := c.Judge(), c.unknown(); verdict != Unknown || !strings.Contains(because, c.Damage[0]) {
		t.Errorf("%s, %q, want unknown, because of the damage", verdict, because)
	}
	c.Summary = counted("paired_count", "measured_count", "only_problem_count")
	if verdict := c.Judge(); verdict != Same {
		t.Errorf("%s where all of the bench has a partner, want the same", verdict)
	}
}

func TestNothingIsTheSameWhereRawTensorsCouldNotBeRead(t *testing.T) {
	t.Parallel()
	c := Comparison{Benches: []string{"good"}, WarningCount: 2}
	c.Raw = RawTensors{Compared: 46, Unreadable: 2, First: "step 0 rank 3: unreadable: bench: openat a.pt: no such file"}
	c.Summary = counted("paired_count", "measured_count", "equal_count")
	c.Verdict = c.Judge()
	if c.Verdict != Unknown || !strings.Contains(c.unknown(), "2 pairs of raw tensors could not be read, the first at "+c.Raw.First) {
		t.Errorf("%s, %q, want unknown, because of the raw tensors", c.Verdict, c.unknown())
	}
	var text strings.Builder
	if err := c.WriteNote(&text, Style{}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"46 pairs of raw tensors were compared", "2 pairs of raw tensors could not be read\n", "next         put right what the warnings name"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("want %q in\n%s", want, text.String())
		}
	}
	c.Summary = counted("paired_count", "measured_count", "differing_count")
	if verdict := c.Judge(); verdict != Differs {
		t.Errorf("%s where something differs, want that it differs", verdict)
	}
}
