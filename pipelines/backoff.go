package pipelines

import (
	"context"
	"math/rand/v2"
	"time"
)

// backoff is a pause that doubles with each failure in a row, up to a bound,
// and is jittered so that many waiters do not come back at once.
type backoff struct {
	least, most time.Duration
	jitter      Jitter
	failures    int
}

// next is the pause after one more failure.
func (b *backoff) next() time.Duration {
	pause := b.most
	if doubled := b.least << min(b.failures, 20); doubled > 0 {
		pause = min(pause, doubled)
	}
	b.failures++
	if b.jitter == nil {
		return pause/2 + rand.N(pause/2+1)
	}
	return pause/2 + b.jitter(pause/2+1)
}

// reset is for after a success.
func (b *backoff) reset() { b.failures = 0 }

// wait pauses after one more failure. Its error is the context's.
func (b *backoff) wait(ctx context.Context) error { return pause(ctx, b.next()) }

func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
