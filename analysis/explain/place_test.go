package explain

import (
	"testing"

	"github.com/tensortap/tensortap/analysis/internal/cases"
	"github.com/tensortap/tensortap/analysis/rows"
)

func TestAnOpStandsWhereTheCasesSay(t *testing.T) {
	t.Parallel()
	for _, c := range cases.In(t, "testdata/places") {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			runs := cases.RunsOf(t, c)
			wanted := rows.Place{Rank: uint32(c.Integer(t, "rank", 0)), Step: uint32(c.Integer(t, "step", 0))}
			var places []Place
			if place := placeOf(runs.Problem, runs.Definitions, c.Parameters["op"], wanted); place != nil {
				places = append(places, *place)
			}
			cases.CheckRows(t, cases.TextOf(placeTable(places)), c.Want)
		})
	}
}
