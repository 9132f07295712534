package origin_test

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/tensortap/tensortap/analysis/internal/cases"
	"github.com/tensortap/tensortap/analysis/origin"
	"github.com/tensortap/tensortap/analysis/rows"
)

func TestRanksMeetWhereTheDatabaseSaysSo(t *testing.T) {
	t.Parallel()
	for _, c := range cases.All(t, "meetings") {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			var got []string
			runs := cases.RunsOf(t, c)
			for _, step := range steps(runs.Problem) {
				if int64(step) < c.Integer(t, "first_step", 0) {
					continue
				}
				for _, met := range meetings(runs, step) {
					got = append(got, fmt.Sprintf("step %d: %s", step, describe(met)))
				}
			}
			slices.Sort(got)
			if want := wantedMeetings(c.Want); !slices.Equal(got, want) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
		})
	}
}

func TestRanksArePrecededWhereTheirMeetingsSaySo(t *testing.T) {
	t.Parallel()
	for _, c := range cases.In(t, "testdata/preceded_ranks") {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			runs := cases.RunsOf(t, c)
			preceded := origin.Preceded(events(t, c.Parameters["events"]), meetings(runs, uint32(c.Integer(t, "step", 0))))
			var want []uint32
			for _, row := range c.Want.Rows {
				want = append(want, uint32(number(row[0])))
			}
			slices.Sort(want)
			if got := slices.Sorted(maps.Keys(preceded)); !slices.Equal(got, want) {
				t.Errorf("ranks %v are preceded, want %v", got, want)
			}
		})
	}
}

func events(t *testing.T, text string) []origin.Event {
	t.Helper()
	var list []origin.Event
	for word := range strings.FieldsSeq(text) {
		rank, seq, _ := strings.Cut(word, ":")
		list = append(list, origin.Event{Rank: uint32(number(rank)), Seq: number(seq)})
	}
	return list
}

func meetings(runs *cases.Runs, step uint32) []origin.Meeting {
	room := origin.NewRoom(runs.Problem, runs.Definitions)
	for _, place := range places(runs.Problem) {
		if place.Step == step {
			room.Add(place.Rank, runs.Tensors(runs.Problem, place.Rank, step))
		}
	}
	return room.Meetings()
}

func places(run *rows.Run) []rows.Place {
	list := slices.Clone(run.Open)
	for _, s := range run.Steps {
		list = append(list, rows.Place{Rank: s.Rank, Step: s.Step})
	}
	return list
}

func steps(run *rows.Run) []uint32 {
	var list []uint32
	for _, place := range places(run) {
		list = append(list, place.Step)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

func describe(met origin.Meeting) string {
	return "gives " + list(met.Givers) + ", takes " + list(met.Takers)
}

func list(of []origin.Event) string {
	var words []string
	for _, e := range of {
		words = append(words, fmt.Sprintf("%d:%d", e.Rank, e.Seq))
	}
	slices.Sort(words)
	return strings.Join(words, " ")
}

// wantedMeetings are the rows of the view, a text for each meeting, under the view's own names.
func wantedMeetings(want cases.Table) []string {
	met := map[[2]string]*origin.Meeting{}
	for _, row := range want.Rows {
		get := func(column string) string { return row[slices.Index(want.Columns, column)] }
		key := [2]string{get("step"), get("meeting")}
		if met[key] == nil {
			met[key] = &origin.Meeting{}
		}
		e := origin.Event{Rank: uint32(number(get("rank"))), Seq: number(get("position"))}
		if get("gives") == "1" {
			met[key].Givers = append(met[key].Givers, e)
		}
		if get("takes") == "1" {
			met[key].Takers = append(met[key].Takers, e)
		}
	}
	var texts []string
	for key, one := range met {
		texts = append(texts, fmt.Sprintf("step %s: %s", key[0], describe(*one)))
	}
	slices.Sort(texts)
	return texts
}

func number(text string) uint64 {
	n, _ := strconv.ParseUint(text, 10, 64)
	return n
}
