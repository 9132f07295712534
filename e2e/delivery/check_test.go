package delivery

import (
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/tensortap/tensortap/e2e/internal/program"
)

// mends waits until up has said those words and the tables hold what they held.
func mends(t *testing.T, u *program.Up, want map[string]string, words string) {
	t.Helper()
	err := program.Await(5*time.Minute, words, func() bool {
		return strings.Contains(u.Stderr.String(), words) && maps.Equal(sums(t, u), want)
	})
	if err != nil {
		t.Errorf("%v: up says %s", err, u.Stderr)
		requireSums(t, u, want)
	}
}

func TestTheCheckSeesThatDefinitionsAloneAreLost(t *testing.T) {
	t.Parallel()
	u := program.StartUp(t, t.TempDir(), "--archive-age", "100ms", "--check-every", "1s")
	twoRuns(t, u)
	want := sums(t, u)
	program.Execute(t, u, "TRUNCATE TABLE tap_store.site")
	mends(t, u, want, "the tables have again, from the archive: run bad: batches of site ")
	program.Execute(t, u, "ALTER TABLE tap_store.program DELETE WHERE position = 3 SETTINGS mutations_sync = 2")
	mends(t, u, want, ": batches of program ")
}

// What is lost while a healing runs is found after it, and the next check must not take it for something that no healing mends.
func TestTheCheckMendsWhatIsLostWhileItHeals(t *testing.T) {
	t.Parallel()
	u := program.StartUp(t, t.TempDir(), "--archive-age", "100ms", "--check-every", "500ms")
	twoRuns(t, u)
	want := sums(t, u)
	for range 60 {
		program.Execute(t, u, "TRUNCATE TABLE tap_store.program")
		time.Sleep(50 * time.Millisecond)
	}
	mends(t, u, want, ": batches of program ")
}

func TestTheCheckSeesThatABatchLostSomeOfItsRows(t *testing.T) {
	t.Parallel()
	u := program.StartUp(t, t.TempDir(), "--archive-age", "100ms", "--check-every", "1s")
	twoRuns(t, u)
	want := sums(t, u)
	program.Execute(t, u, "ALTER TABLE tap_store.tensor DELETE WHERE seq % 7 = 3 SETTINGS mutations_sync = 2")
	mends(t, u, want, "the tables had other rows of batches than were stored, which are written anew: run bad: batches of tensor ")
	requireArchive(t, u)
	healed(t, u, program.ExitSame, "nothing is lost, nothing is damaged")
}
