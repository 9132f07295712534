package consumertest

import (
	"errors"
	"maps"
	"slices"

	"github.com/tensortap/tensortap/schemas"
)

// Messages returns the messages of batches.
func Messages(batches []Batch) []schemas.Message {
	messages := make([]schemas.Message, len(batches))
	for i, b := range batches {
		messages[i] = b.Message
	}
	return messages
}

// writeAttempts is the number of calls by the delivery loop of the suite until it gives up. A real
// loop never gives up.
const writeAttempts = 20

// mustWrite writes as the delivery loop does: again, until it is not an error.
func (t trial) mustWrite(write Write, messages []schemas.Message) {
	t.Helper()
	var err error
	for range writeAttempts {
		if err = write(t.Context(), messages); err == nil {
			return
		}
		if rejected := (*schemas.RejectedError)(nil); errors.As(err, &rejected) {
			break
		}
	}
	t.Fatalf("Write(%d messages) = %v, want nil", len(messages), err)
}

func (t trial) wantRejected(err error, want []int) {
	t.Helper()
	var rejected *schemas.RejectedError
	if !errors.As(err, &rejected) {
		t.Fatalf("Write with %d malformed messages = %v, want a *schemas.RejectedError", len(want), err)
	}
	if got := slices.Sorted(maps.Keys(rejected.Reasons)); !slices.Equal(got, want) {
		t.Fatalf("Write rejected messages %v, want %v; reasons %v", got, want, rejected.Reasons)
	}
	for i, reason := range rejected.Reasons {
		if reason == "" {
			t.Errorf("message %d is rejected without a reason", i)
		}
	}
}

func allOf(messages []schemas.Message) []int {
	all := make([]int, len(messages))
	for i := range all {
		all[i] = i
	}
	return all
}

// wantRows compares the stored rows of kind with the rows of batches.
func (t trial) wantRows(kind string, batches []Batch) {
	t.Helper()
	difference := make(map[string]int)
	want := 0
	for _, b := range batches {
		want += len(b.Rows)
		for _, row := range b.Rows {
			difference[row]++
		}
	}
	got := t.store.Rows(t.T, kind)
	for _, row := range got {
		difference[row]--
	}
	shown := 0
	for _, row := range slices.Sorted(maps.Keys(difference)) {
		if n := difference[row]; n != 0 && shown < 6 {
			t.Errorf("%s: row stored %+d times too often: %s", kind, -n, shorten(row))
			shown++
		}
	}
	if shown > 0 || len(got) != want {
		t.Fatalf("%s holds %d rows, want %d", kind, len(got), want)
	}
}

func shorten(text string) string {
	const most = 600
	if len(text) <= most {
		return text
	}
	return text[:most] + "…"
}
