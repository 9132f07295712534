package sql_test

import (
	"strconv"
	"strings"
	"testing"
	"time"
)

// observe stores one tensor of a step of a rank, and the end of that step, which says how many tensors it had.
func (d *database) observe(tb testing.TB, rank, step, said int, at time.Duration) {
	tb.Helper()
	place := map[string]string{"rank": strconv.Itoa(rank), "step": strconv.Itoa(step), "said": strconv.Itoa(said), "at": strconv.FormatInt(int64(at), 10)}
	d.Query(tb, `INSERT INTO tap_store.tensor (run_id, rank, epoch, step, site_id, event_time_ns) VALUES (1, {rank:UInt32}, 7, {step:UInt32}, 1, {at:Int64})`, "", place)
	d.Query(tb, `INSERT INTO tap_store.step (run_id, rank, epoch, step, tensor_count, event_time_ns) VALUES (1, {rank:UInt32}, 7, {step:UInt32}, {said:UInt64}, {at:Int64})`, "", place)
}

// added has the database add steps up, and names those that it has.
func (d *database) added(tb testing.TB) string {
	tb.Helper()
	d.Query(tb, "SYSTEM REFRESH VIEW tap_store.trend_fill", "", nil)
	d.Query(tb, "SYSTEM WAIT VIEW tap_store.trend_fill", "", nil)
	return strings.TrimSpace(d.Query(tb, "SELECT arrayStringConcat(arraySort(groupArray(step)), ' ') FROM (SELECT step FROM tap_store.trend GROUP BY step HAVING sum(row_count) > 1)", "", nil))
}

func TestAStepIsAddedUpOnceItHasEndedOnAllRanks(t *testing.T) {
	t.Parallel()
	d := startDatabase(t)
	d.Query(t, "SYSTEM START VIEW tap_store.trend_fill", "", nil)
	require := func(when, want string) {
		t.Helper()
		if got := d.added(t); got != want {
			t.Errorf("%s: steps %q are added up, want %q", when, got, want)
		}
	}
	d.observe(t, 0, 0, 1, time.Second)
	require("one rank alone", "")
	for rank := range 3 {
		d.observe(t, rank, 1, 1, time.Minute)
	}
	for rank := range 2 {
		d.observe(t, rank, 2, 1, 2*time.Minute)
	}
	require("the third rank is still at step 2", "1")
	d.observe(t, 2, 2, 1, 3*time.Minute)
	require("all have ended step 2", "1 2")
	for rank := range 2 {
		d.observe(t, rank, 3, 1, 7*time.Minute)
	}
	require("the third rank said nothing for four minutes", "1 2")
	for rank := range 2 {
		d.observe(t, rank, 4, 1+rank, 9*time.Minute)
	}
	require("the third rank said nothing for six minutes, and a tensor of rank 1 is missing", "1 2 3")
}
