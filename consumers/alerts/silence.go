package alerts

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/tensortap/tensortap/schemas"
)

// Silence keeps receivers from being told of some alerts for a while. The alerts fire all the same, and are stored.
type Silence struct {
	ID     string            `json:"id"`
	Match  map[string]string `json:"match"` // labels, rule and severity that an alert has to have, all of them
	Until  time.Time         `json:"until"`
	Reason string            `json:"reason"`
}

const silencePrefix = "silence."

// longestReason bounds the reason of a silence, in bytes.
const longestReason = 1000

// AddSilence stores a silence under an id of its own.
func AddSilence(ctx context.Context, bucket jetstream.KeyValue, s Silence) (Silence, error) {
	if len(s.Match) == 0 {
		return s, errors.New("a silence needs something that alerts have, as rule=rank-silent or run=nightly")
	}
	if len(s.Reason) > longestReason {
		return s, fmt.Errorf("reason of %d bytes: at most %d", len(s.Reason), longestReason)
	}
	s.ID = strings.ToLower(rand.Text()[:8])
	value, err := json.Marshal(s)
	if err != nil {
		return s, err
	}
	if _, err := bucket.Create(ctx, silencePrefix+s.ID, value); err != nil {
		return s, fmt.Errorf("store silence: %w", err)
	}
	return s, nil
}

// RemoveSilence ends a silence before its time.
func RemoveSilence(ctx context.Context, bucket jetstream.KeyValue, id string) error {
	all, err := Silences(ctx, bucket)
	if err != nil {
		return err
	}
	ids := make([]string, len(all))
	for i := range all {
		if ids[i] = all[i].ID; ids[i] == id {
			return bucket.Purge(ctx, silencePrefix+id)
		}
	}
	if len(ids) == 0 {
		return fmt.Errorf("no silence has the id %q: none is set", id)
	}
	return fmt.Errorf("no silence has the id %q, there are: %s", id, strings.Join(ids, ", "))
}

// Silences are all that are stored, by their end; those that are over stay until a role looks.
func Silences(ctx context.Context, bucket jetstream.KeyValue) ([]Silence, error) {
	lister, err := bucket.ListKeysFiltered(ctx, silencePrefix+"*")
	if err != nil {
		return nil, fmt.Errorf("list silences: %w", err)
	}
	defer lister.Stop() //nolint:errcheck // only read
	var found []Silence
	for key := range lister.Keys() {
		s, err := readSilence(ctx, bucket, key)
		if err != nil {
			return nil, err
		}
		if s.ID != "" {
			found = append(found, s)
		}
	}
	slices.SortFunc(found, func(x, y Silence) int { return cmp.Or(x.Until.Compare(y.Until), strings.Compare(x.ID, y.ID)) })
	return found, nil
}

// readSilence is without an id where it was removed meanwhile.
func readSilence(ctx context.Context, bucket jetstream.KeyValue, key string) (s Silence, err error) {
	entry, err := bucket.Get(ctx, key)
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return s, nil
	}
	if err != nil {
		return s, fmt.Errorf("read %s: %w", key, err)
	}
	if err := json.Unmarshal(entry.Value(), &s); err != nil {
		return s, fmt.Errorf("read %s of bucket %s: %w", key, bucket.Bucket(), err)
	}
	return s, nil
}

// Covers says whether the silence is on and has the alert in it.
func (s *Silence) Covers(row *schemas.AlertRow, now time.Time) bool {
	if !now.Before(s.Until) {
		return false
	}
	for name, value := range s.Match {
		if has, known := matched(row)[name]; !known || has != value {
			return false
		}
	}
	return true
}

// matched is what a silence may ask for.
func matched(row *schemas.AlertRow) map[string]string {
	all := maps.Clone(row.Labels)
	if all == nil {
		all = map[string]string{}
	}
	all["rule"], all["severity"] = row.Rule, row.Severity
	return all
}

// Words are what the silence matches, as it is asked for.
func (s *Silence) Words() string {
	words := make([]string, 0, len(s.Match))
	for _, name := range slices.Sorted(maps.Keys(s.Match)) {
		words = append(words, name+"="+s.Match[name])
	}
	return strings.Join(words, " ")
}
