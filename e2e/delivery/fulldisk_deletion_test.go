package delivery

import (
	"slices"
	"testing"

	"github.com/tensortap/tensortap/e2e/internal/program"
	"github.com/tensortap/tensortap/internal/dev/recorded"
)

// TestADeletionOnAFullDiskLosesNothingAndGoesOnWithRoom fills the disk of each place in turn where a deletion writes, and deletes a run. It is
// carried out, or fails with the reason; then it goes on once there is room.
func TestADeletionOnAFullDiskLosesNothingAndGoesOnWithRoom(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	places := []struct{ part, size string }{{".", "160m"}, {"nats", "160m"}, {"clickhouse", "256m"}, {"archive", "32m"}}
	disks := map[string]string{}
	for _, p := range places {
		disks[p.part] = smallDisk(t, data, p.part, p.size)
	}
	u := program.StartUp(t, data, "--archive-age", "100ms")
	dump := recorded.Unpack(t, "D_tp_golden")
	u.Publish(t, dump, "good")
	for _, p := range places {
		u.Publish(t, dump, "full "+p.part)
	}
	u.Settle(t)
	good := runRows(t, u, "good")
	for _, p := range places {
		run := "full " + p.part
		before := len(u.Stderr.String())
		empty := program.Fill(t, disks[p.part], 0)
		out := program.Run(t, u.Setting, "runs", "delete", run, "--yes")
		if out.Status != 0 && (out.Status != program.ExitError || !program.SaysFull(out.Stderr+u.Stderr.String()[before:])) {
			t.Errorf("the disk of %s is full: %v, want that it is done, or why not", p.part, out)
		}
		if p.part == "." && out.Status == 0 {
			t.Error("it is not noted which messages are removed: nothing could be written")
		}
		empty()
		err := program.Await(program.Patience, "the run to go", func() bool { // once the stream's server has seen that there is room
			out = program.Run(t, u.Setting, "runs", "delete", run, "--yes")
			return out.Status == 0
		})
		if err != nil {
			t.Errorf("the disk of %s has room again: %v: %v", p.part, err, out)
		}
		if rows := runRows(t, u, run); slices.ContainsFunc(rows, func(n string) bool { return n != "0" }) {
			t.Errorf("rows of %s are %v", run, rows)
		}
	}
	if now := runRows(t, u, "good"); !slices.Equal(now, good) {
		t.Errorf("rows of run good are %v, before %v", now, good)
	}
	if out := program.Run(t, u.Setting, "verify"); out.Status != 0 {
		t.Errorf("verify: %v\nup: %s", out, u.Stderr)
	}
}
