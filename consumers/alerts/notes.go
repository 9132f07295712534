package alerts

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/tensortap/tensortap/schemas"
)

// notes say which change of each alert a receiver was told last. Of a change that is not noted it is told again: whoever dies
// between the two tells it twice, and never not at all.
type notes struct {
	bucket   jetstream.KeyValue
	receiver string
	revision uint64
	told     map[string]uint64 // by fingerprint
}

// openNotes reads what a receiver was told. To one that is new, what was resolved before it came is no news.
func openNotes(ctx context.Context, bucket jetstream.KeyValue, receiver string, known []schemas.AlertRow) (*notes, error) {
	n := &notes{bucket: bucket, receiver: receiver, told: map[string]uint64{}}
	entry, err := bucket.Get(ctx, n.key())
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		for i := range known {
			if known[i].Ordinal%2 == 0 {
				n.told[schemas.FormatID(known[i].Fingerprint)] = known[i].Ordinal
			}
		}
		return n, n.store(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("read what receiver %s was told: %w", receiver, err)
	}
	n.revision = entry.Revision()
	if err := json.Unmarshal(entry.Value(), &n.told); err != nil {
		return nil, fmt.Errorf("read what receiver %s was told, in key %s of bucket %s: %w", receiver, n.key(), bucket.Bucket(), err)
	}
	return n, nil
}

const toldPrefix = "told."

func (n *notes) key() string { return toldPrefix + n.receiver }

// Receivers are those that were ever told of something.
func Receivers(ctx context.Context, bucket jetstream.KeyValue) (map[string]bool, error) {
	lister, err := bucket.ListKeysFiltered(ctx, toldPrefix+"*")
	if err != nil {
		return nil, fmt.Errorf("list who was told of alerts: %w", err)
	}
	found := map[string]bool{}
	for key := range lister.Keys() {
		found[strings.TrimPrefix(key, toldPrefix)] = true
	}
	return found, lister.Stop()
}

// has says whether the receiver was told of the change.
func (n *notes) has(row *schemas.AlertRow) bool {
	return n.told[schemas.FormatID(row.Fingerprint)] >= row.Ordinal
}

// add notes that the receiver was told, or has not to be told. Another role that noted something meanwhile is an error.
func (n *notes) add(ctx context.Context, rows []*schemas.AlertRow) error {
	for _, row := range rows {
		n.told[schemas.FormatID(row.Fingerprint)] = row.Ordinal
	}
	return n.store(ctx)
}

// prune drops what is known of alerts that are not known any more.
func (n *notes) prune(known []schemas.AlertRow) {
	still := make(map[string]uint64, len(known))
	for i := range known {
		id := schemas.FormatID(known[i].Fingerprint)
		if ordinal, noted := n.told[id]; noted {
			still[id] = ordinal
		}
	}
	n.told = still
}

func (n *notes) store(ctx context.Context) error {
	value, err := json.Marshal(n.told)
	if err != nil {
		return err
	}
	if n.revision, err = n.bucket.Update(ctx, n.key(), value, n.revision); err != nil {
		return fmt.Errorf("note what receiver %s was told: %w", n.receiver, err)
	}
	return nil
}
