package schemas_test

import (
	"errors"
	"runtime"
	"strings"
	"testing"

	"github.com/tensortap/tensortap/consumers/consumertest"
	"github.com/tensortap/tensortap/schemas"
)

// mostAllocated is what a message may take: what it unpacks to, and as much again for columns that it lacks.
const mostAllocated = 2*schemas.MaxStreamBytes + 16<<20

// Go ends a program that asks for more memory than there is, or for too deep a stack: one such message would end each
// consumer, at each of its starts.
func TestAMessageTakesNoMoreMemoryThanItHolds(t *testing.T) { //nolint:paralleltest // it measures the memory of the process
	for _, kind := range []string{"tensor", "layout", "log", "op"} { // all types of columns
		for name, m := range consumertest.Hostile(t, kind, consumertest.Producer(1)) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, parseErr := schemas.ParseMessage(m.Subject(), m.NATSHeader(), m.Data, 1)
			_, err := m.Record()
			runtime.ReadMemStats(&after)
			var malformed *schemas.MalformedError
			if !errors.As(err, &malformed) {
				t.Errorf("%s, %s: got %v, want a malformed message", kind, name, err)
			}
			if parseErr != nil && !errors.As(parseErr, &malformed) {
				t.Errorf("%s, %s: got %v, want a malformed message", kind, name, parseErr)
			}
			if took := after.TotalAlloc - before.TotalAlloc; took > mostAllocated {
				t.Errorf("%s, %s: %d bytes of message took %d bytes of memory, want at most %d", kind, name, len(m.Data), took, mostAllocated)
			}
		}
	}
}

func TestRecordRefusesWhatIsLongerThanItsLimit(t *testing.T) {
	t.Parallel()
	texts, lists := schemas.NewBuilder[schemas.OpRow](), schemas.NewBuilder[schemas.LayoutRow]()
	for more, refused := range []bool{false, true} {
		texts.Append(&schemas.OpRow{Name: strings.Repeat("n", schemas.MaxTextBytes+more)})
		lists.Append(&schemas.LayoutRow{Shape: make([]int64, schemas.MaxListValues+more)})
		text, err := texts.Message(schemas.Identity{})
		list, errList := lists.Message(schemas.Identity{})
		if err := errors.Join(err, errList); err != nil {
			t.Fatal(err)
		}
		for _, m := range []schemas.Message{text, list} {
			if _, err := m.Record(); (err != nil) != refused {
				t.Errorf("%s with %d more than its limit: got %v", m.Header.Kind, more, err)
			}
		}
	}
}
