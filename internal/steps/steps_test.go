package steps

import (
	"strings"
	"testing"
)

func TestASetHoldsWhatItsTextSays(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text, written string
		holds, lacks  []int64
		first, last   int64
		oneRange      bool
	}{
		{"", "all", []int64{0, 7, 1 << 32}, []int64{-1}, 0, -1, true},
		{"all", "all", []int64{0, 7}, nil, 0, -1, true},
		{"0-", "all", []int64{0, 7}, []int64{-1}, 0, -1, true},
		{"3", "3", []int64{3}, []int64{2, 4}, 3, 3, true},
		{"3-5", "3-5", []int64{3, 4, 5}, []int64{2, 6}, 3, 5, true},
		{"5-", "5-", []int64{5, 1 << 40}, []int64{4}, 5, -1, true},
		{"5-5", "5", []int64{5}, []int64{4, 6}, 5, 5, true},
		{"3-5, 6", "3-6", []int64{3, 6}, []int64{7}, 3, 6, true},
		{"4-9,3-5,20-", "3-9,20-", []int64{3, 9, 20}, []int64{10, 19}, 3, -1, false},
		{"20-,3-", "3-", []int64{3, 30}, []int64{2}, 3, -1, true},
		{"0,3-5,10-100/10", "0,3-5,10-100/10", []int64{0, 3, 10, 20, 100}, []int64{1, 6, 11, 95, 101, 110}, 0, 100, false},
		{"10-99/10", "10-90/10", []int64{10, 90}, []int64{99, 100}, 10, 90, false},
		{"10/5", "10-/5", []int64{10, 15, 1000}, []int64{5, 11}, 10, -1, false},
		{"10-/5", "10-/5", []int64{10, 15}, []int64{12}, 10, -1, false},
		{"7-9/100", "7", []int64{7}, []int64{8}, 7, 7, true},
		{"999999-", "999999-", []int64{999999}, []int64{0}, 999999, -1, true},
	} {
		set, err := Parse(c.text)
		if err != nil {
			t.Errorf("Parse(%q): %v", c.text, err)
			continue
		}
		if got := set.String(); got != c.written {
			t.Errorf("Parse(%q) is written %q, want %q", c.text, got, c.written)
		}
		if again, err := Parse(set.String()); err != nil || again.String() != c.written {
			t.Errorf("Parse(%q) read again is %v, %v", c.written, again, err)
		}
		for _, step := range c.holds {
			if !set.Contains(step) {
				t.Errorf("Parse(%q) lacks %d", c.text, step)
			}
		}
		for _, step := range c.lacks {
			if set.Contains(step) {
				t.Errorf("Parse(%q) holds %d", c.text, step)
			}
		}
		r, oneRange := set.Range()
		if set.First() != c.first || set.Last() != c.last || oneRange != c.oneRange || r != (Range{c.first, c.last}) {
			t.Errorf("Parse(%q) is from %d to %d, one range: %v; want %+v", c.text, set.First(), set.Last(), oneRange, c)
		}
		if set.All() != (c.written == "all") {
			t.Errorf("Parse(%q) is all: %v", c.text, set.All())
		}
	}
}

func TestATextThatIsNoStepsIsAnErrorThatSaysHowTheyAreWritten(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"x": "want numbers and ranges", "-1": "from 0 to 4294967295", "5-3": "want numbers", "1-2-3": "want numbers",
		"1,": "want numbers", "1/0": "want numbers", "1-/": "want numbers", "/2": "want numbers", "+1": "want numbers",
		"4294967296": "want numbers", "1 2": "want numbers",
		"3:7": "a range is written with a hyphen: 3-7", ":7": ": 0-7", "3:": ": 3-", ":": ": all",
	} {
		if set, err := Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Parse(%q) = %v, %v; want an error with %q", text, set, err, want)
		}
	}
}

func TestARangeIsASet(t *testing.T) {
	t.Parallel()
	for r, want := range map[Range]string{{3, 5}: "3-5", {0, -1}: "all", {2, -1}: "2-"} {
		if got := Between(r); got.String() != want {
			t.Errorf("Between(%v) is %s, want %s", r, got, want)
		}
	}
}

func FuzzASetReadAgainIsTheSame(f *testing.F) {
	for _, text := range []string{"0,3-5,10-100/10", "5-", "3:7", "10/5,2-", "1-2,2-9/3"} {
		f.Add(text, int64(4))
	}
	f.Fuzz(func(t *testing.T, text string, step int64) {
		set, err := Parse(text)
		if err != nil {
			return
		}
		again, err := Parse(set.String())
		if err != nil || again.String() != set.String() || again.Contains(step) != set.Contains(step) {
			t.Errorf("Parse(%q) is %s, read again %s, %v", text, set, again, err)
		}
	})
}
