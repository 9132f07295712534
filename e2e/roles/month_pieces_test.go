package roles

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tensortap/tensortap/e2e/internal/measured"
	"github.com/tensortap/tensortap/internal/dev/receivers"
)

// firing is a planted alert that every receiver is told of at that second.
func firing(p plant, id string, second int64) (all []tiding) {
	for _, name := range tellers() {
		all = append(all, tiding{name, "firing", p, id, time.Unix(second, 0)})
	}
	return all
}

func TestAMonthsReckoning(t *testing.T) {
	t.Parallel()
	nan, silent := plant{"first-nan", "train-01"}, plant{"rank-silent", "train-04"}
	planted := []plant{nan, silent}
	good := slices.Clip(slices.Concat(firing(nan, "a 1", 10), firing(silent, "b 1", 20)))
	over := tiding{byMail, "resolved", nan, "a 2", time.Unix(30, 0)}
	for name, c := range map[string]struct {
		told   []tiding
		deaths []time.Time
		wrong  []string
		again  int
	}{
		"each once":                {append(good, over), nil, nil, 0},
		"one receiver was not":     {good[1:], nil, []string{"command was not told of first-nan of train-01"}, 0},
		"nobody was told":          {nil, nil, slices.Repeat([]string{"was not told of"}, 6), 0},
		"nobody planted it":        {append(firing(plant{"lag", ""}, "c 1", 5)[:1], good...), nil, []string{"command was told that lag of  is firing, which nobody planted: c 1"}, 0},
		"resolved, never planted":  {append([]tiding{{byMail, "resolved", plant{"hang", "train-02"}, "d 2", time.Unix(1, 0)}}, good...), nil, []string{"e-mail was told that hang of train-02 is resolved"}, 0},
		"twice":                    {append(good, firing(nan, "a 1", 12)[0]), nil, []string{"command was told twice that first-nan of train-01 is firing: a 1, and then a 1"}, 0},
		"twice, and a death later": {append(good, firing(nan, "a 1", 12)[0]), []time.Time{time.Unix(13, 0)}, []string{"command was told twice"}, 0},
		"again after a death":      {append(good, firing(nan, "a 1", 12)[0]), []time.Time{time.Unix(11, 0)}, nil, 1},
		"fired again":              {append(good, firing(nan, "a 3", 12)[0]), []time.Time{time.Unix(11, 0)}, []string{"command was told twice that first-nan of train-01 is firing: a 1, and then a 3"}, 0},
		"of another rank":          {append(good, firing(silent, "e 1", 21)[1]), nil, []string{"e-mail was told twice that rank-silent of train-04 is firing: b 1, and then e 1"}, 0},
		"resolved twice":           {append(good, over, over), nil, []string{"e-mail was told twice that first-nan of train-01 is resolved"}, 0},
	} {
		wrong, again := reckoning(planted, slices.Clone(c.told), c.deaths)
		same := len(wrong) == len(c.wrong) && again == c.again
		for i := range min(len(wrong), len(c.wrong)) {
			same = same && strings.Contains(wrong[i], c.wrong[i])
		}
		if !same {
			t.Errorf("%s: %q, %d again; want %q, %d", name, wrong, again, c.wrong, c.again)
		}
	}
}

func TestTheWeeksOfAMonth(t *testing.T) {
	t.Parallel()
	for days, want := range map[int][2]measured.Span{
		30: {{First: 3, End: 10}, {First: 23, End: 30}}, 6: {{First: 3, End: 4}, {First: 5, End: 6}}, 5: {{First: 3, End: 4}, {First: 4, End: 5}}, 4: {}, 0: {},
	} {
		if early, late := weeks(days); early != want[0] || late != want[1] {
			t.Errorf("of %d days: %v and %v, want %v", days, early, late, want)
		}
	}
}

func TestWhatARankHasWritten(t *testing.T) {
	t.Parallel()
	w := &written{}
	w.took(3, 0)
	w.took(4, 64)
	w.took(5, math.NaN())
	if w.steps != 3 || w.tensors != 24 || w.differing != 2 || w.sum != 24+32+64+40-(5-2.0/64) {
		t.Errorf("%+v", w)
	}
}

func TestEachFlawIsPlantedAndTold(t *testing.T) {
	t.Parallel()
	m := &month{days: int(flaws)}
	for f := range flaws {
		if got := len(alertsOf(f)); (f == flawless) != (got == 0) {
			t.Errorf("flaw %d is told by %d rules", f, got)
		}
	}
	if got := m.planted(); len(got) != 8 || got[0] != (plant{"first-nan", "train-01"}) {
		t.Errorf("planted in %d days: %v", m.days, got)
	}
}

func TestAnEMailIsRead(t *testing.T) {
	t.Parallel()
	const text = "Subject: [FIRING] warning baseline-verdict baseline=release\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\n" +
		"fired 2026-03-01 12:00:00 UTC: verdict of baseline release on run train-02: dif=\r\nfers; 12 of 40 pairs\r\nLook: tensortap report\r\n\r\n" +
		"resolved 2026-03-01 13:00:00 UTC, fired 2026-03-01 12:00:00 UTC: verdict of baseline release on run train-01: differs\r\nLook: x\r\n"
	got, err := tidingsOf(receivers.Letter{Text: text})
	if err != nil || len(got) != 2 || got[0].about != (plant{"baseline-verdict", "train-02"}) || got[0].state != "firing" || got[1].state != "resolved" || got[1].about.run != "train-01" {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := tidingsOf(receivers.Letter{Text: "Subject: hello\r\n\r\nworld\r\n"}); err == nil {
		t.Error("a letter of something else is read")
	}
}
