package retention_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/tensortap/tensortap/consumers/consumertest"
	"github.com/tensortap/tensortap/internal/retention"
	"github.com/tensortap/tensortap/schemas"
)

// sink takes what it is given, but for the first message.
type sink struct {
	taken []schemas.Message
	away  error
}

func (s *sink) Write(_ context.Context, messages []schemas.Message) error {
	if s.away != nil {
		return s.away
	}
	s.taken = append(s.taken, messages...)
	return &schemas.RejectedError{Reasons: map[int]string{0: "for its own reasons"}}
}

func TestMessagesOfADeletedRunAreStoredNowhereAndCounted(t *testing.T) {
	t.Parallel()
	var (
		deleted retention.Deleted
		under   sink
		gone    = consumertest.Messages(consumertest.Batches(t, "tensor", consumertest.Producer(1), 3, 5))
		kept    = consumertest.Messages(consumertest.Batches(t, "tensor", consumertest.Producer(2), 2, 5))
		mixed   = []schemas.Message{gone[0], gone[1], kept[0], gone[2], kept[1]}
		run     = gone[0].Header.Identity.RunID
	)
	deleted.Add(run, retention.Whole)
	heeding := deleted.Heeding(&under)
	err := heeding.Write(t.Context(), mixed)
	rejected := new(schemas.RejectedError)
	if !errors.As(err, &rejected) || len(rejected.Reasons) != 1 || rejected.Reasons[2] == "" {
		t.Errorf("Write = %v, want message 2 rejected by the sink below", err)
	}
	if len(under.taken) != 2 || deleted.Late()[run] != 3 {
		t.Errorf("%d messages went through and %v came late, want 2 and 3", len(under.taken), deleted.Late())
	}
	if err := heeding.Write(t.Context(), gone); err != nil || deleted.Late()[run] != 6 {
		t.Errorf("Write of the deleted run alone = %v, %v came late", err, deleted.Late())
	}
	under.away = errors.New("the store is away")
	if err := heeding.Write(t.Context(), mixed); !errors.Is(err, under.away) || deleted.Late()[run] != 6 {
		t.Errorf("Write to a store that is away = %v, %v came late; who tries again counts them", err, deleted.Late())
	}
	baseline := consumertest.Messages(consumertest.Batches(t, "baseline", consumertest.Producer(1), 1, 1))
	if deleted.Has(baseline[0]) {
		t.Error("a baseline has the hash of its own name in the place of a run, and goes with none")
	}
}

func TestOfWhatGoesVerdictsStepsAndDefinitionsStay(t *testing.T) {
	t.Parallel()
	of := map[string][]string{
		retention.Payloads: {"payload"},
		retention.Logs:     {"log"},
		retention.Details:  {"allocation", "call", "collective", "log", "memory", "payload", "request", "request_event", "tensor", "token", "token_site"},
	}
	for part, want := range of {
		var goes []string
		for _, table := range schemas.Tables() {
			if retention.Goes(part, table.Kind()) {
				goes = append(goes, table.Kind())
			}
		}
		slices.Sort(goes)
		if !slices.Equal(goes, want) {
			t.Errorf("with %s go %v, want %v", part, goes, want)
		}
	}
	var deleted retention.Deleted
	deleted.Add(1, retention.Logs)
	deleted.Add(1, retention.Payloads)
	if parts := deleted.Runs(); !parts.Has(1, "log") || !parts.Has(1, "payload") || parts.Has(1, "tensor") || parts.Has(2, "log") || parts.Whole(1) {
		t.Errorf("after two parts: %v", parts)
	}
}
