package schemas

import (
	"fmt"
	"maps"
	"slices"
)

// MalformedError says why a message can never be stored. Its reader puts the
// message into the dead-letter stream and goes on.
type MalformedError struct {
	Subject string
	Reason  string
}

// Error implements error.
func (e *MalformedError) Error() string {
	return fmt.Sprintf("message under %s: %s", e.Subject, e.Reason)
}

// RejectedError lists the messages given to a sink that can never be stored. All others of that
// call are durable. Its reader puts the rejected ones into the dead-letter stream and acknowledges
// the rest.
type RejectedError struct {
	Reasons map[int]string // by position in the slice given to the sink
}

// Error implements error.
func (e *RejectedError) Error() string {
	for _, i := range slices.Sorted(maps.Keys(e.Reasons)) {
		return fmt.Sprintf("%d messages rejected, the first (position %d): %s", len(e.Reasons), i, e.Reasons[i])
	}
	return "no message rejected"
}
