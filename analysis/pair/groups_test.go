package pair_test

import (
	"testing"

	"github.com/tensortap/tensortap/analysis/internal/cases"
	"github.com/tensortap/tensortap/analysis/pair"
	"github.com/tensortap/tensortap/analysis/rows"
	"github.com/tensortap/tensortap/schemas"
)

func TestGroupsAnswerTheCasesOfShardGroups(t *testing.T) {
	t.Parallel()
	eachCase(t, "shard_groups", func(t *testing.T, c *cases.Case, r *cases.Runs) (list [][]string) {
		t.Helper()
		groups := pair.Groups(r.Problem)
		if c.Integer(t, "whole_world", 0) == 1 {
			groups = pair.WholeWorld(r.Problem)
		}
		for _, g := range groups {
			for _, rank := range g.Ranks {
				list = append(list, words(rank, g.Leader, g.Size, map[bool]int{true: 1}[g.Known]))
			}
		}
		return list
	})
}

func TestGroupSizeByRule(t *testing.T) {
	t.Parallel()
	at := func(rank uint32, tp, size int16) schemas.RankRow {
		return schemas.RankRow{Rank: rank, TP: tp, TPSize: size, PP: -1, DP: -1, CP: -1}
	}
	for _, c := range []struct {
		what  string
		run   *rows.Run
		size  uint64
		known bool
	}{
		{"two of two", ranked(at(0, 0, 2), at(1, 1, 2)), 2, true},
		{"two of four, of which two died", ranked(at(0, 0, 4), at(1, 1, 4)), 4, true},
		{"nobody knows", ranked(at(0, -1, -1), at(1, -1, -1)), 2, false},
		{"one knows", ranked(at(0, 0, 2), at(1, -1, -1)), 2, false},
		{"one rank that does not know", ranked(at(0, -1, -1)), 1, true},
		{"no rank", &rows.Run{}, 1, true},
	} {
		if size, known := pair.GroupSize(c.run); size != c.size || known != c.known {
			t.Errorf("%s: size %d, known %v, want %d and %v", c.what, size, known, c.size, c.known)
		}
	}
}
