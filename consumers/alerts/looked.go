package alerts

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// lookedKey has up to when the tables knew all at the last look, as nanoseconds: whoever looks next tells of what was over
// since then, too.
const lookedKey = "looked"

// lastLook is the zero time where nobody ever looked.
func lastLook(ctx context.Context, bucket jetstream.KeyValue) (time.Time, error) {
	entry, err := bucket.Get(ctx, lookedKey)
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return time.Time{}, nil
	}
	if err != nil {
		return time.Time{}, fmt.Errorf("read when the rules were asked last: %w", err)
	}
	ns, err := strconv.ParseInt(string(entry.Value()), 10, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("read when the rules were asked last, in key %s of bucket %s: %w", lookedKey, bucket.Bucket(), err)
	}
	return time.Unix(0, ns), nil
}

// noteLook notes that changes up to then are stored. It never goes back, as the time does by which tables are behind.
func (r *Role) noteLook(ctx context.Context, knownUpTo time.Time) error {
	if !knownUpTo.After(r.looked) {
		return nil
	}
	if _, err := r.Bucket.Put(ctx, lookedKey, []byte(strconv.FormatInt(knownUpTo.UnixNano(), 10))); err != nil {
		return fmt.Errorf("note that the rules were asked: %w", err)
	}
	r.looked = knownUpTo
	return nil
}
