package pair_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/tensortap/tensortap/analysis/pair"
	"github.com/tensortap/tensortap/analysis/rows"
	"github.com/tensortap/tensortap/schemas"
)

// sited makes tensors of sites, each written site, site/micro step or site@seq; the seq is else the position.
func sited(text string) *rows.Tensors {
	t := &rows.Tensors{}
	for i, word := range strings.Fields(text) {
		var site, micro uint64
		seq := uint64(i)
		if at, after, ok := strings.Cut(word, "@"); ok {
			word = at
			_, _ = fmt.Sscan(after, &seq)
		}
		_, _ = fmt.Sscanf(strings.Replace(word, "/", " ", 1), "%d %d", &site, &micro)
		t.SiteID, t.MicroStep, t.Seq = append(t.SiteID, site), append(t.MicroStep, uint16(micro)), append(t.Seq, seq)
	}
	return t
}

func TestBuildByRule(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		what, problem, bench string
		moved                map[uint64]uint64
		want                 string
	}{
		{"the same sites", "11 12", "11 12", nil, "[{0 0} {1 1}]"},
		{"in another order", "11 12", "12 11", nil, "[{0 1} {1 0}]"},
		{"a site of either run alone", "11 12 13", "11 14 13", nil, "[{0 0} {1 -1} {-1 1} {2 2}]"},
		{"micro steps", "11 11/1", "11/1 11", nil, "[{0 1} {1 0}]"},
		{"micro steps of one run", "11/1", "11", nil, "[{-1 0} {0 -1}]"},
		{"what only the bench has stands by its seq", "11@10 12@20", "13@5 14@10 11@12 15@19 16@30", nil, "[{-1 0} {0 2} {-1 1} {-1 3} {1 -1} {-1 4}]"},
		{"a site several times", "11 11 11 12", "11 12 11", nil, "[{0 0} {1 2} {2 -1} {3 1}]"},
		{"a site more often in the bench", "11 12", "11 11 12 11", nil, "[{0 0} {-1 1} {1 2} {-1 3}]"},
		{"another name", "11 12", "11 22", map[uint64]uint64{22: 12}, "[{0 0} {1 1}]"},
		{"names that changed places", "11 12", "11 12", map[uint64]uint64{11: 12, 12: 11}, "[{0 1} {1 0}]"},
		{"nobody's name", "11 12", "11 12", map[uint64]uint64{11: pair.Nobody}, "[{0 -1} {-1 0} {1 1}]"},
		{"no problem", "", "11 12", nil, "[{-1 0} {-1 1}]"},
		{"no bench", "11 12", "", nil, "[{0 -1} {1 -1}]"},
		{"nothing", "", "", nil, "[]"},
	} {
		problem, bench := sited(c.problem), sited(c.bench)
		if c.what == "no problem" {
			problem = nil
		}
		plan := pair.Build(problem, bench, c.moved)
		if got := fmt.Sprint(plan.Matches(problem, bench)); got != c.want {
			t.Errorf("%s: %s, want %s", c.what, got, c.want)
		}
		if !plan.Fits(problem, bench) {
			t.Errorf("%s: the plan does not fit the tensors that it was made of", c.what)
		}
	}
}

func TestPlanFitsStepsOfTheSameSitesAlone(t *testing.T) {
	t.Parallel()
	plan := pair.Build(sited("11 12"), sited("11 13"), nil)
	plain := sited("11@7 13@9")
	plain.MicroStep = nil
	for _, c := range []struct {
		what           string
		problem, bench *rows.Tensors
		want           bool
	}{
		{"the next step", sited("11@7 12@8"), sited("11@7 13@9"), true},
		{"a column of micro steps that is not there", sited("11 12"), plain, true},
		{"another site", sited("11 12"), sited("11 14"), false},
		{"another micro step", sited("11 12/1"), sited("11 13"), false},
		{"another order", sited("12 11"), sited("11 13"), false},
		{"one site less", sited("11"), sited("11 13"), false},
		{"nothing", nil, sited("11 13"), false},
	} {
		if got := plan.Fits(c.problem, c.bench); got != c.want {
			t.Errorf("%s: fits is %v, want %v", c.what, got, c.want)
		}
	}
	next, bench := sited("11@7 12@8"), sited("11@7 13@9")
	if got, want := fmt.Sprint(plan.Matches(next, bench)), "[{0 0} {1 -1} {-1 1}]"; got != want {
		t.Errorf("matches of the next step %s, want %s", got, want)
	}
}

// manySites makes 150,000 sites with random ids, without one of each skip.
func manySites(skip int) *rows.Tensors {
	t := &rows.Tensors{}
	for i := range 150_000 {
		if skip > 0 && i%skip == 0 {
			continue
		}
		t.SiteID, t.Seq = append(t.SiteID, schemas.OpID(strconv.Itoa(i))), append(t.Seq, uint64(i))
	}
	return t
}

func BenchmarkBuildOf150000Sites(b *testing.B) {
	problem, bench := manySites(0), manySites(1000)
	b.ReportAllocs()
	for b.Loop() {
		pair.Build(problem, bench, nil)
	}
}

func BenchmarkFitsOf150000Sites(b *testing.B) {
	problem, bench := manySites(0), manySites(1000)
	plan := pair.Build(problem, bench, nil)
	for b.Loop() {
		plan.Fits(problem, bench)
	}
}

func BenchmarkMatchesOf150000Sites(b *testing.B) {
	problem, bench := manySites(1000), manySites(0)
	plan := pair.Build(problem, bench, nil)
	for b.Loop() {
		plan.Matches(problem, bench)
	}
}
