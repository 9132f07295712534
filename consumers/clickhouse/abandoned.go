package clickhouse

import (
	"context"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// abandoned counts the INSERTs under way whose caller has gone. The zero value has none.
type abandoned struct {
	mu   sync.Mutex
	left []<-chan struct{} // closed as each ends
}

// add takes over an INSERT that runs in a group.
func (a *abandoned) add(insert *errgroup.Group) {
	ended := make(chan struct{})
	var waiting errgroup.Group
	waiting.Go(func() error {
		defer close(ended)
		return insert.Wait()
	})
	a.mu.Lock()
	defer a.mu.Unlock()
	a.left = append(a.left, ended)
}

// ended waits that long for all of them, and says whether they have ended.
func (a *abandoned) ended(ctx context.Context, patience time.Duration) bool {
	timer := time.NewTimer(patience)
	defer timer.Stop()
	a.mu.Lock()
	defer a.mu.Unlock()
	for len(a.left) > 0 {
		select {
		case <-a.left[0]:
			a.left = a.left[1:]
		case <-timer.C:
			return false
		case <-ctx.Done():
			return false
		}
	}
	return true
}

// none says whether there are none that might still begin.
func (a *abandoned) none() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.left) == 0
}
