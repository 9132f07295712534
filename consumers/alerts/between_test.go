package alerts

import (
	"errors"
	"strconv"
	"testing"
	"time"
)

// What happens between two looks, and while nobody looks.

// dropping is one more role, with the rule dropped-events.
func (w *world) dropping(t *testing.T) *Role {
	t.Helper()
	r := w.role(t)
	cfg, err := DefaultConfig()
	if err != nil {
		t.Fatal(err)
	}
	rule, err := cfg.Rule("dropped-events")
	if err != nil {
		t.Fatal(err)
	}
	r.Config.Rules = []Rule{*rule}
	return r
}

// gap is the answer of dropped-events while a batch is missing.
func gap() []map[string]string {
	return []map[string]string{{"run": "nightly", "rank": "3", "explanation": "1 batches are missing"}}
}

func TestABatchThatIsLateIsNoGap(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := w.dropping(t)
	const late, every = 600, 15
	w.holds = gap()
	for seconds := 0; seconds < late; seconds += every { // it is in the stream, and the tables have what came after it
		requireTold(t, w.look(t, r, every))
		w.behind += every * time.Second
	}
	w.holds, w.behind = nil, 0
	requireTold(t, w.look(t, r, every))
	requireTold(t, w.look(t, r, 120))
	if w.sent != 0 {
		t.Errorf("%d changes published, want none", w.sent)
	}
}

// TestARunOfWhichTheTablesHeardLongAgoStaysCurrentWhileTheyAreBehind: it may go on, and what fires of it is not resolved.
func TestARunOfWhichTheTablesHeardLongAgoStaysCurrentWhileTheyAreBehind(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := w.dropping(t)
	w.holds, w.ended = gap(), start()
	requireTold(t, w.look(t, r, 0))
	requireTold(t, w.look(t, r, 90), "firing 3 1")
	w.behind = 3 * time.Hour
	requireTold(t, w.look(t, r, 3*3600))
	requireTold(t, w.look(t, r, 300))
	w.behind = 0 // they caught up, and it has ended
	requireTold(t, w.look(t, r, 300))
	requireTold(t, w.look(t, r, 300), "resolved 3 2")
}

func TestAGapFiresOnceTheTablesKnowAll(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := w.dropping(t)
	w.holds, w.behind = gap(), 300*time.Second
	requireTold(t, w.look(t, r, 0))
	w.behind += 90 * time.Second
	requireTold(t, w.look(t, r, 90))
	w.behind = time.Second // they caught up, and it is missing still
	requireTold(t, w.look(t, r, 15), "firing 3 1")
	w.behind += 90 * time.Second
	requireTold(t, w.look(t, r, 90))
	requireTold(t, w.look(t, w.dropping(t), 15))
}

// requireLooked says up to when the tables knew all at the look before, in seconds since the test began; -1 for none.
func (w *world) requireLooked(t *testing.T, want int) {
	t.Helper()
	wanted := "-1"
	if want >= 0 {
		wanted = strconv.FormatInt(start().Add(time.Duration(want)*time.Second).UnixNano(), 10)
	}
	if w.looked != wanted {
		t.Errorf("the rule was told that the last look knew all up to %s, want %s", w.looked, wanted)
	}
}

func TestTheNextLookAsksForWhatWasOverSinceTheLast(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := w.role(t)
	w.look(t, r, 0)
	w.requireLooked(t, -1)
	w.behind = 5 * time.Second
	w.look(t, r, 15)
	w.requireLooked(t, 0)
	w.look(t, r, 15)
	w.requireLooked(t, 10)
	w.broken = errors.New("the database is away")
	w.look(t, r, 15)
	w.requireLooked(t, 25)
	w.broken = nil
	w.look(t, r, 15)
	w.requireLooked(t, 25) // of the look that got no answer nothing is known
	w.look(t, w.role(t), 3600)
	w.requireLooked(t, 55)
}

func TestOfADeletedRunNothingFiresAndWhatFiredIsOver(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := w.role(t)
	w.holds = silent("3")
	requireTold(t, w.look(t, r, 0), "firing 3 1")
	w.gone = map[string]bool{"nightly": true}
	w.holds = silent("3", "4") // what is left of it
	requireTold(t, w.look(t, r, 15), "resolved 3 2")
	requireTold(t, w.look(t, r, 15))
	requireTold(t, w.look(t, w.role(t), 15))
	if len(w.stored) != 2 {
		t.Errorf("%d changes stored, want 2", len(w.stored))
	}
}

func TestWhoWasToldOfADeletedRunIsToldThatItIsOverByTheNextRole(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.holds = silent("3")
	requireTold(t, w.look(t, w.role(t), 0), "firing 3 1")
	w.gone, w.broken = map[string]bool{"nightly": true}, errors.New("the database is away")
	requireTold(t, w.look(t, w.role(t), 600), "resolved 3 2")
}
