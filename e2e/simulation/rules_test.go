package simulation

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/tensortap/tensortap/e2e/internal/simulated"
	"github.com/tensortap/tensortap/schemas"
)

// stored holds what a stream keeps against what it kept before.
func (w *world) stored(stream string, m simulated.Stored) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	_, _ = fmt.Fprintln(w.history, time.Now().UnixNano(), stream, m.Sequence, m.Subject)
	switch stream {
	case "TAP":
		id := m.Header.Get(nats.MsgIdHdr)
		// A letter's row names its place, and the letter may be there twice.
		if before, had := w.stream[id]; had && !bytes.Equal(before, m.Data) && !strings.HasPrefix(m.Subject, "tap."+schemas.DeadLetter().Kind()) {
			w.failures = append(w.failures, "other bytes came as "+id)
		}
		w.stream[id] = m.Data
	case "TAP_DEAD":
		w.dead[strings.TrimPrefix(m.Subject, "dead.")+" "+m.Header.Get("Tap-Stream-Seq")] = true
	default:
		w.claimed(m)
	}
}

func (w *world) claimed(m simulated.Stored) {
	var next source
	if err := json.Unmarshal(m.Data, &next); err != nil {
		w.failures = append(w.failures, "a claim is no JSON: "+string(m.Data))
	}
	before, had := w.claims[m.Subject]
	w.claims[m.Subject] = next
	other := had && before.Content != next.Content
	if had && (next.Generation < before.Generation || other && next.Generation != before.Generation+1 || !other && before.Done && !next.Done) {
		w.failures = append(w.failures, fmt.Sprintf("claim %+v follows %+v", next, before))
	}
	if !next.Done {
		return
	}
	for _, message := range messagesOf(m.Subject, next) {
		if w.stream[message.ID()] == nil {
			w.failures = append(w.failures, fmt.Sprintf("claim %+v is done, and the stream lacks %s", next, message.ID()))
		}
	}
}

// acknowledged holds each acknowledgement against what is stored.
func (w *world) acknowledged(consumer string, m simulated.Stored, verb string) {
	w.mutex.Lock()
	_, _ = fmt.Fprintln(w.history, time.Now().UnixNano(), consumer, m.Sequence, verb)
	w.mutex.Unlock()
	if verb == "+TERM" {
		w.mutex.Lock()
		defer w.mutex.Unlock()
		if !w.dead[fmt.Sprint(consumer, " ", m.Sequence)] {
			w.failures = append(w.failures, fmt.Sprintf("message %d is ended by %s without a dead letter", m.Sequence, consumer))
		}
		return
	}
	message, err := schemas.ParseMessage(m.Subject, m.Header, m.Data, m.Sequence)
	if err != nil {
		w.fail("message %d is acknowledged, though %v", m.Sequence, err)
		return
	}
	if consumer == archive {
		w.archived(message)
		return
	}
	if definition(message) {
		return
	}
	if rows := w.database.Rows(message.Header.Kind, message.Header.Identity); rows != uint64(message.Header.Rows) {
		w.fail("message %s is acknowledged with %d of %d rows stored", message.ID(), rows, message.Header.Rows)
	}
}

// definition says whether the message carries no identity into its table.
func definition(m schemas.Message) bool {
	table, _ := schemas.TableByKind(m.Header.Kind)
	return table.Class == schemas.Definition
}

// check holds the tables against the stream, and against what publishers were told.
func (w *world) check() []string {
	want := map[string]map[schemas.Identity]uint64{}
	for _, m := range w.server.Messages("TAP") {
		message, err := schemas.ParseMessage(m.Subject, m.Header, m.Data, m.Sequence)
		if err != nil {
			if !w.dead[fmt.Sprint(tables, " ", m.Sequence)] {
				w.fail("message %d has no dead letter: %v", m.Sequence, err)
			}
			continue
		}
		const day = int64(24 * time.Hour)
		if h := message.Header; h.MinEventTimeNs/day != h.MaxEventTimeNs/day {
			w.fail("message %s spans two days, from %d to %d", message.ID(), h.MinEventTimeNs, h.MaxEventTimeNs)
		}
		if definition(message) {
			continue
		}
		h := message.Header
		if want[h.Kind] == nil {
			want[h.Kind] = map[schemas.Identity]uint64{}
		}
		want[h.Kind][h.Identity] = uint64(h.Rows)
	}
	batches := 0
	for kind, of := range want {
		batches += len(of)
		for id, rows := range of {
			if have := w.database.Rows(kind, id); have != rows {
				w.fail("table %s has %d rows of batch %s, want %d", kind, have, id, rows)
			}
		}
	}
	if have := w.database.Batches(); have != batches {
		w.fail("tables have %d batches, the stream %d", have, batches)
	}
	for id, m := range w.finished {
		if w.database.Rows(m.Header.Kind, m.Header.Identity) != uint64(m.Header.Rows) {
			w.fail("%s was published, and is not stored", id)
		}
	}
	w.checkArchive()
	w.checkTapped()
	return w.failures
}
