package agent_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tensortap/tensortap/internal/dev/testbed"
	"github.com/tensortap/tensortap/schemas"
)

// TestCollectivesBecomeRowsInAStepAndBetweenSteps spools what a rank does that never comes out of its second call.
func TestCollectivesBecomeRowsInAStepAndBetweenSteps(t *testing.T) {
	t.Parallel()
	root, l := t.TempDir(), newLog(t)
	s := testbed.NewSpool(t, root, testbed.SpoolOptions{Run: "bad", Epoch: 1})
	group := s.Define("group", map[string]any{"description": "tp", "ranks": []int{0, 1}, "before": 1})
	put := func(name string, number uint64, state uint32, at int64) {
		s.Put(schemas.SpoolCollectiveKind, &schemas.SpoolCollective{
			Group: group, Name: s.Text(name), TimeNs: at, CalledNs: 5, Number: number, Inputs: s.Text("float32[4]"), State: state,
		})
	}
	s.Begin(3)
	put("all_reduce", 1, schemas.SpoolCalled, 5)
	put("all_reduce", 1, schemas.SpoolCompleted, 7)
	s.End(3, 0)
	put("barrier", 2, schemas.SpoolCalled, 5)
	s.Die()
	serveUntil(t, config(t, root, l), empty(t, root))
	var got []string
	for _, row := range rows[schemas.CollectiveRow](l) {
		step := "-"
		if row.Step != nil {
			step = fmt.Sprint(*row.Step)
		}
		got = append(got, fmt.Sprint(row.ProcessGroup, row.GroupRanks, row.GroupSeq, " ", row.Name, " ", row.Inputs, " ", row.State, " step ", step, " completed ", row.CompletedTimeNs != nil))
	}
	want := []string{
		"tp [0-1] (2)[0 1] 1 all_reduce float32[4] called step 3 completed false",
		"tp [0-1] (2)[0 1] 1 all_reduce float32[4] completed step 3 completed true",
		"tp [0-1] (2)[0 1] 2 barrier float32[4] called step - completed false",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
