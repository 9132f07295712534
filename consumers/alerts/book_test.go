package alerts

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/tensortap/tensortap/consumers/alerts/receiver"
	"github.com/tensortap/tensortap/schemas"
)

// start is when the tests' clock begins.
func start() time.Time { return time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC) }

// disk is a condition of a rule that has to hold for so long.
func disk(wait time.Duration) condition {
	return condition{fingerprint: 7, rule: "disk", severity: "critical", labels: map[string]string{"disk": "a"}, summary: "a is full", wait: wait}
}

// looks drives a book by a condition that holds at some looks, once a second, and counts what changes.
func looks(t *testing.T, b *book, wait time.Duration, seconds int, holds func(second int) bool) []schemas.AlertRow {
	t.Helper()
	var changes []schemas.AlertRow
	for second := range seconds {
		var a answers
		if holds(second) {
			a.conditions = []condition{disk(wait)}
		}
		for _, row := range b.step(start().Add(time.Duration(second)*time.Second), a) {
			b.apply(&row)
			changes = append(changes, row)
		}
	}
	return changes
}

// at says after how many seconds each change came, and to what.
func requireChanges(t *testing.T, changes []schemas.AlertRow, seconds ...int) {
	t.Helper()
	if len(changes) != len(seconds) {
		t.Fatalf("%d changes, want %d: %+v", len(changes), len(seconds), changes)
	}
	for i, row := range changes {
		state := receiver.Firing
		if i%2 == 1 {
			state = receiver.Resolved
		}
		if got := int(time.Duration(row.ChangedTimeNs - start().UnixNano()).Seconds()); got != seconds[i] || row.State != state || row.Ordinal != uint64(i+1) {
			t.Errorf("change %d: %s at second %d with place %d, want %s at %d", i, row.State, got, row.Ordinal, state, seconds[i])
		}
	}
}

func TestAnAlertFiresOnceItsConditionHeldForLongEnough(t *testing.T) {
	t.Parallel()
	changes := looks(t, newBook(time.Minute, nil), 30*time.Second, 300, func(s int) bool { return s < 100 && s != 20 })
	requireChanges(t, changes, 51, 160)
	if since := changes[0].SinceTimeNs; since != start().Add(21*time.Second).UnixNano() {
		t.Errorf("since %v, want the time at which the condition was first seen", time.Unix(0, since))
	}
}

func TestARuleThatGoesToAndFroIsDamped(t *testing.T) {
	t.Parallel()
	fast := looks(t, newBook(time.Minute, nil), 0, 3600, func(s int) bool { return s/30%2 == 0 })
	requireChanges(t, fast, 0)
	slow := looks(t, newBook(time.Minute, nil), 0, 4*3600, func(s int) bool { return s/300%2 == 0 })
	if len(slow) > 10 {
		t.Errorf("it went to and fro 24 times in four hours, and %d changes were told", len(slow))
	}
}

func TestARuleThatGivesNoAnswerResolvesNothing(t *testing.T) {
	t.Parallel()
	b := newBook(time.Minute, nil)
	looks(t, b, 0, 1, func(int) bool { return true })
	later := start().Add(time.Hour)
	if changes := b.step(later, answers{failed: map[question]bool{{rule: "disk"}: true}}); len(changes) > 0 {
		t.Errorf("no answer, and %+v", changes)
	}
	b.step(later, answers{})
	if changes := b.step(later.Add(time.Minute), answers{}); len(changes) != 1 || changes[0].State != receiver.Resolved {
		t.Errorf("an answer without rows for a minute: %+v, want it resolved", changes)
	}
}

func TestAClockThatGoesBackFiresNothing(t *testing.T) {
	t.Parallel()
	b := newBook(time.Minute, nil)
	held := answers{conditions: []condition{disk(time.Minute)}}
	b.step(start(), held)
	if changes := b.step(start().Add(-time.Hour), held); len(changes) > 0 {
		t.Errorf("an hour before it was first seen: %+v", changes)
	}
}

// TestNothingFiresTwiceWhereverARoleDies makes roles die before or after a change is stored, in random orders.
func TestNothingFiresTwiceWhereverARoleDies(t *testing.T) {
	t.Parallel()
	for seed := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, 1))
		stored := map[uint64]schemas.AlertRow{}
		fresh := func() *book {
			rows := make([]schemas.AlertRow, 0, len(stored))
			for _, row := range stored {
				rows = append(rows, row)
			}
			return newBook(5*time.Second, rows)
		}
		roles := []*book{fresh(), fresh()} // the second goes on though another has its lease, as one that was frozen
		for second := range 400 {
			var a answers
			if second/40%2 == 0 {
				a.conditions = []condition{disk(2 * time.Second)}
			}
			b := roles[random.IntN(2)]
			for _, row := range b.step(start().Add(time.Duration(second)*time.Second), a) {
				if random.IntN(4) == 0 {
					break // died before it was stored
				}
				if before, twice := stored[row.Ordinal]; twice && before.State != row.State {
					t.Fatalf("seed %d: place %d is %s and %s", seed, row.Ordinal, before.State, row.State)
				}
				stored[row.Ordinal] = row
				b.apply(&row)
			}
			if random.IntN(10) == 0 {
				roles[random.IntN(2)] = fresh()
			}
		}
		for ordinal := uint64(1); ordinal <= uint64(len(stored)); ordinal++ {
			if state := stored[ordinal].State; (state == receiver.Firing) != (ordinal%2 == 1) {
				t.Fatalf("seed %d: change %d of %d is %q", seed, ordinal, len(stored), state)
			}
		}
		if len(stored) > 10 {
			t.Fatalf("seed %d: the condition came five times, and %d changes are stored", seed, len(stored))
		}
	}
}
