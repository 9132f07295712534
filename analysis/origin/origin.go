// Package origin finds where a difference began: it orders the first differences of ranks by their
// meetings in a step, and names the kind of place of the first one. It is pure: no I/O, no clock.
package origin

// Event is something that happened on a rank, at a place of the rank's own order.
type Event struct {
	Rank uint32
	Seq  uint64
}

// Meeting is a place where effects of some ranks reach others.
type Meeting struct{ Givers, Takers []Event }

// farthest is the greatest place that can be told from its neighbours when it counts twice.
const farthest = 1<<62 - 1

// A place counts twice, so that the state just before an event differs from the event itself.
func (e Event) itself() uint64 { return 2*min(e.Seq, farthest) + 1 }
func (e Event) after() uint64  { return 2 * (min(e.Seq, farthest) + 1) }

// never is after all places.
const never = ^uint64(0)

// Preceded are the ranks whose event comes after another rank's, as far as their meetings tell. Events are of one
// step, one for each rank. An event reaches everything that its rank does later, and everything that other ranks do
// after a meeting in which a reached rank gave something. Rounds go on until nothing more is reached.
func Preceded(events []Event, meetings []Meeting) map[uint32]bool {
	reached := make(map[uint32]uint64, len(events))
	for _, e := range events {
		reached[e.Rank] = min(from(reached, e.Rank), e.itself())
	}
	for nearer := true; nearer; {
		nearer = reach(reached, meetings)
	}
	preceded := map[uint32]bool{}
	for _, e := range events {
		if reached[e.Rank] < e.itself() {
			preceded[e.Rank] = true
		}
	}
	return preceded
}

// from is the place of a rank from which on it is reached.
func from(reached map[uint32]uint64, rank uint32) uint64 {
	if place, known := reached[rank]; known {
		return place
	}
	return never
}

// reach goes one round through the meetings, and says whether more is reached than before.
func reach(reached map[uint32]uint64, meetings []Meeting) (nearer bool) {
	for _, met := range meetings {
		if !given(reached, met.Givers) {
			continue
		}
		for _, taker := range met.Takers {
			if taker.after() < from(reached, taker.Rank) {
				reached[taker.Rank], nearer = taker.after(), true
			}
		}
	}
	return nearer
}

// given says whether anything that was given had been reached.
func given(reached map[uint32]uint64, givers []Event) bool {
	for _, giver := range givers {
		if from(reached, giver.Rank) <= giver.itself() {
			return true
		}
	}
	return false
}

// Unpreceded are the indices of the events that no other precedes. Meetings that contradict each other leave all.
func Unpreceded(events []Event, meetings []Meeting) []int {
	preceded := Preceded(events, meetings)
	var left []int
	for i, e := range events {
		if !preceded[e.Rank] || len(preceded) == len(events) {
			left = append(left, i)
		}
	}
	return left
}
