package pipelines

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// LeaseBucket holds which worker does which work.
const LeaseBucket = "tap_leases"

// LeaseAge is the life of a lease that its holder does not renew: after that, others take the work of a dead holder.
const LeaseAge = 6 * time.Second

// Leases share work among several workers. Two workers may do the same work at once, if one was thought dead; the
// result must be the same. Its methods may be called at the same time.
type Leases struct {
	bucket jetstream.KeyValue
	stream jetstream.Stream // of the bucket
	holder string

	mutex sync.Mutex
	held  map[string]uint64 // revision of each lease
}

func leaseBucket() jetstream.KeyValueConfig {
	return jetstream.KeyValueConfig{
		Bucket: LeaseBucket, Description: "which worker does which work", TTL: LeaseAge, Storage: jetstream.FileStorage,
	}
}

// OpenLeases takes part under a name that no other worker has.
func OpenLeases(ctx context.Context, js jetstream.JetStream, holder string) (*Leases, error) {
	bucket, err := openBucket(ctx, js, leaseBucket())
	if err != nil {
		return nil, err
	}
	stream, err := js.Stream(ctx, "KV_"+LeaseBucket)
	if err != nil {
		return nil, fmt.Errorf("look at bucket %s: %w", LeaseBucket, err)
	}
	return &Leases{bucket: bucket, stream: stream, holder: holder, held: map[string]uint64{}}, nil
}

// Holders are who has which work now; empty where no work was ever shared.
func Holders(ctx context.Context, js jetstream.JetStream) (map[string]string, error) {
	bucket, err := js.KeyValue(ctx, LeaseBucket)
	if errors.Is(err, jetstream.ErrBucketNotFound) {
		return nil, nil //nolint:nilnil // said above
	}
	if err != nil {
		return nil, fmt.Errorf("look who works: %w", err)
	}
	watcher, err := bucket.WatchAll(ctx, jetstream.IgnoreDeletes())
	if err != nil {
		return nil, fmt.Errorf("look who works: %w", err)
	}
	held := map[string]string{}
	for entry := range watcher.Updates() {
		if entry == nil { // these were all
			break
		}
		held[entry.Key()] = string(entry.Value())
	}
	return held, errors.Join(ctx.Err(), watcher.Stop())
}

// Take says whether the work is this worker's from now on, for as long as it renews.
func (l *Leases) Take(ctx context.Context, work string) (bool, error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if revision, held := l.held[work]; held {
		return l.renew(ctx, work, revision)
	}
	revision, err := l.bucket.Create(ctx, work, []byte(l.holder))
	if errors.Is(err, jetstream.ErrKeyExists) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("take %s: %w", work, err)
	}
	l.held[work] = revision
	return true, nil
}

// renew holds the mutex.
func (l *Leases) renew(ctx context.Context, work string, revision uint64) (bool, error) {
	next, err := l.bucket.Update(ctx, work, []byte(l.holder), revision)
	if errors.Is(err, jetstream.ErrKeyExists) || errors.Is(err, jetstream.ErrKeyRevisionMismatch) {
		return l.renewed(ctx, work)
	}
	if err != nil {
		return false, fmt.Errorf("renew %s: %w", work, err)
	}
	l.held[work] = next
	return true, nil
}

// renewed says whether the lease is this worker's all the same: the answer to its last renewal may have been lost. It
// holds the mutex.
func (l *Leases) renewed(ctx context.Context, work string) (bool, error) {
	entry, err := l.bucket.Get(ctx, work)
	if err == nil && string(entry.Value()) == l.holder {
		l.held[work] = entry.Revision()
		return true, nil
	}
	if err == nil || errors.Is(err, jetstream.ErrKeyNotFound) {
		delete(l.held, work)
		return false, nil
	}
	return false, fmt.Errorf("look whose %s is: %w", work, err)
}

// Renew renews the held leases until ctx ends, and then gives them back.
func (l *Leases) Renew(ctx context.Context) {
	tick := time.NewTicker(LeaseAge / 4)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			l.LetGo(context.WithoutCancel(ctx))
			return
		case <-tick.C:
			for _, work := range l.names() {
				l.keep(ctx, work)
			}
		}
	}
}

// keep renews a lease that is still held; a lost one is noticed when it is taken again.
func (l *Leases) keep(ctx context.Context, work string) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if revision, held := l.held[work]; held {
		_, _ = l.renew(ctx, work, revision)
	}
}

func (l *Leases) names() []string {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	names := make([]string, 0, len(l.held))
	for work := range l.held {
		names = append(names, work)
	}
	return names
}

// LetGo gives the held leases back, for who cannot do the work now.
func (l *Leases) LetGo(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, LeaseAge)
	defer cancel()
	for _, work := range l.names() {
		l.GiveBack(ctx, work)
	}
}

// GiveBack gives a lease back, if it is held.
func (l *Leases) GiveBack(ctx context.Context, work string) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if revision, held := l.held[work]; held {
		// Its message and no other: a mark of its deletion would count as a member that shares. Else it ends by its age.
		_ = l.stream.Purge(ctx, jetstream.WithPurgeSubject("$KV."+LeaseBucket+"."+work), jetstream.WithPurgeSequence(revision+1))
		delete(l.held, work)
	}
}
