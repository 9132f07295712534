package pipelines

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/tensortap/tensortap/schemas"
)

// FateBucket has what was decided of whole runs.
const FateBucket = "tap_runs"

// fateKeys is what the bucket's subjects begin with.
const fateKeys = "$KV." + FateBucket + "."

// ErrRunDeleted says that a run of that name was deleted. Its caller needs another name.
var ErrRunDeleted = errors.New("was deleted")

// ErrRunPinned says that a run is to be kept. Its caller may unpin it.
var ErrRunPinned = errors.New("is pinned")

// Fates is the bucket. Its methods may be called at the same time.
type Fates struct {
	By string // who decides, for the log of who carries it out

	bucket jetstream.KeyValue
	js     jetstream.JetStream
}

func fateBucket() jetstream.KeyValueConfig {
	return jetstream.KeyValueConfig{Bucket: FateBucket, Description: "what was decided of whole runs", Storage: jetstream.FileStorage}
}

// OpenFates finds the bucket, or makes it.
func OpenFates(ctx context.Context, js jetstream.JetStream) (*Fates, error) {
	bucket, err := openBucket(ctx, js, fateBucket())
	if err != nil {
		return nil, err
	}
	return &Fates{bucket: bucket, js: js}, nil
}

// Of is the fate of a run; the zero value where nothing was decided.
func (f *Fates) Of(ctx context.Context, runID uint64) (Fate, error) {
	fate, _, err := f.read(ctx, runID)
	return fate, err
}

func (f *Fates) read(ctx context.Context, runID uint64) (fate Fate, revision uint64, err error) {
	entry, err := f.bucket.Get(ctx, schemas.FormatID(runID))
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return Fate{}, 0, nil
	}
	if err == nil {
		err = json.Unmarshal(entry.Value(), &fate)
	}
	if err != nil {
		return Fate{}, 0, fmt.Errorf("look what was decided of run %s: %w", schemas.FormatID(runID), err)
	}
	return fate, entry.Revision(), nil
}

// All are the fates of runs of which something was decided.
func (f *Fates) All(ctx context.Context) (map[uint64]Fate, error) {
	watcher, err := f.bucket.WatchAll(ctx, jetstream.IgnoreDeletes())
	if err != nil {
		return nil, fmt.Errorf("list what was decided of runs: %w", err)
	}
	all := map[uint64]Fate{}
	for entry := range watcher.Updates() {
		if entry == nil { // these were all
			break
		}
		if id, fate, ok := fateOf(entry); ok {
			all[id] = fate
		}
	}
	return all, errors.Join(ctx.Err(), watcher.Stop())
}

func fateOf(entry jetstream.KeyValueEntry) (id uint64, fate Fate, ok bool) {
	return decodeFate(entry.Key(), entry.Value())
}

func decodeFate(key string, value []byte) (id uint64, fate Fate, ok bool) {
	id, err := schemas.ParseID(key)
	if err != nil || json.Unmarshal(value, &fate) != nil {
		return 0, Fate{}, false
	}
	return id, fate, true
}

// Follow calls told with each fate, and again as it changes, until ctx ends or the connection is closed.
func (f *Fates) Follow(ctx context.Context, told func(runID uint64, fate Fate)) error {
	watcher, err := f.bucket.WatchAll(ctx, jetstream.IgnoreDeletes())
	if err != nil {
		return fmt.Errorf("follow what is decided of runs: %w", err)
	}
	for {
		select {
		case entry, open := <-watcher.Updates():
			if !open {
				return nil
			}
			if entry == nil {
				continue
			}
			if id, fate, ok := fateOf(entry); ok {
				told(id, fate)
			}
		case <-ctx.Done():
			return watcher.Stop()
		}
	}
}

// FatesSince calls told with each fate that was decided or changed since that place of the bucket, 0 for all of them, and returns
// the place of the last. It makes no consumer: who may can have messages delivered under any subject.
func FatesSince(ctx context.Context, js jetstream.JetStream, place uint64, told func(runID uint64, fate Fate)) (last uint64, err error) {
	stream, err := js.Stream(ctx, "KV_"+FateBucket)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return 0, nil // nothing was ever decided
	}
	if err != nil {
		return place, fmt.Errorf("look what was decided of runs: %w", err)
	}
	if stream.CachedInfo().State.LastSeq < place { // the bucket is a new one
		place = 0
	}
	for {
		m, err := nextFate(ctx, js, stream, place)
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			return place, nil
		}
		if err != nil {
			return place, fmt.Errorf("look what was decided of runs: %w", err)
		}
		place = m.Sequence
		if id, fate, ok := decodeFate(strings.TrimPrefix(m.Subject, fateKeys), m.Data); ok {
			told(id, fate)
		}
	}
}

// nextFate is an ErrPermissionViolation for who may not look: the server does not answer it.
func nextFate(ctx context.Context, js jetstream.JetStream, stream jetstream.Stream, after uint64) (*jetstream.RawStreamMsg, error) {
	m, err := stream.GetMsg(ctx, after+1, jetstream.WithGetMsgSubject(fateKeys+">"))
	if refused := js.Conn().LastError(); err != nil && errors.Is(refused, nats.ErrPermissionViolation) && strings.Contains(refused.Error(), `"$JS.API.DIRECT.GET.KV_`+FateBucket+`"`) {
		return nil, nats.ErrPermissionViolation
	}
	return m, err
}

// change applies a change to the fate of a run, again where somebody else was faster.
func (f *Fates) change(ctx context.Context, runID uint64, how func(*Fate) error) (Fate, error) {
	for {
		fate, revision, err := f.read(ctx, runID)
		if err == nil {
			err = how(&fate)
		}
		if err != nil {
			return fate, err
		}
		text, _ := json.Marshal(fate) //nolint:errchkjson // strings and numbers always encode
		if revision == 0 {
			_, err = f.bucket.Create(ctx, schemas.FormatID(runID), text)
		} else {
			_, err = f.bucket.Update(ctx, schemas.FormatID(runID), text, revision)
		}
		if errors.Is(err, jetstream.ErrKeyExists) || errors.Is(err, jetstream.ErrKeyRevisionMismatch) {
			continue
		}
		if err != nil {
			return fate, fmt.Errorf("note what was decided of run %s: %w", fate.Name, err)
		}
		return fate, nil
	}
}

// Pin has a run stay until it is unpinned.
func (f *Fates) Pin(ctx context.Context, run string, now time.Time) error {
	_, err := f.change(ctx, schemas.RunID(run), func(fate *Fate) error {
		if err := fate.refusal(); err != nil {
			return err
		}
		fate.Name = run
		if fate.PinnedNs == 0 {
			fate.PinnedNs = now.UnixNano()
		}
		return nil
	})
	return err
}

// Unpin takes a pin away.
func (f *Fates) Unpin(ctx context.Context, run string) error {
	_, err := f.change(ctx, schemas.RunID(run), func(fate *Fate) error {
		fate.Name, fate.PinnedNs = run, 0
		return nil
	})
	return err
}

// Delete notes durably that a run goes: no store takes anything of it from then on, and who writes the stores removes what
// they have. A pinned run is refused with ErrRunPinned, unless it is deleted all the same.
func (f *Fates) Delete(ctx context.Context, run string, now time.Time, evenPinned bool) (Fate, error) { //nolint:revive // flag-parameter: two ways to decide
	epochs, err := startEpochs(ctx, f.js, schemas.RunID(run))
	if err != nil {
		return Fate{}, err
	}
	return f.change(ctx, schemas.RunID(run), func(fate *Fate) error {
		if err := fate.pinned(run); err != nil && !evenPinned {
			return err
		}
		if fate.Deleted() {
			fate.Troubles = nil // it is tried again; its time stays, and so does what was known of it
			return nil
		}
		*fate = Fate{Name: run, DeletedNs: now.UnixNano(), Epochs: union(fate.Epochs, epochs), Parts: fate.Parts, By: f.By}
		return nil
	})
}

// RefuseClosed is an error for a run that was deleted, or of which a part was removed: nothing is added to it.
func RefuseClosed(ctx context.Context, js jetstream.JetStream, runID uint64) error {
	fates, err := findFates(ctx, js)
	if fates == nil || err != nil {
		return err
	}
	fate, err := fates.Of(ctx, runID)
	return errors.Join(err, fate.closed())
}

// RefuseDeleted is an ErrRunDeleted for a run that was deleted.
func RefuseDeleted(ctx context.Context, js jetstream.JetStream, runID uint64) error {
	fates, err := findFates(ctx, js)
	if fates == nil || err != nil {
		return err
	}
	fate, err := fates.Of(ctx, runID)
	return errors.Join(err, fate.refusal())
}

// DeletedRuns are those of which nothing counts any more, wherever it may still lie.
func DeletedRuns(ctx context.Context, js jetstream.JetStream) (map[uint64]bool, error) {
	return runsWith(ctx, js, (*Fate).Deleted)
}

// PinnedRuns are those that stay.
func PinnedRuns(ctx context.Context, js jetstream.JetStream) (map[uint64]bool, error) {
	return runsWith(ctx, js, func(f *Fate) bool { return f.PinnedNs != 0 })
}

// DecidedOf are the fates of runs of which something was decided.
func DecidedOf(ctx context.Context, js jetstream.JetStream) (map[uint64]Fate, error) {
	fates, err := findFates(ctx, js)
	if fates == nil || err != nil {
		return nil, err
	}
	return fates.All(ctx)
}

func runsWith(ctx context.Context, js jetstream.JetStream, is func(*Fate) bool) (map[uint64]bool, error) {
	all, err := DecidedOf(ctx, js)
	some := map[uint64]bool{}
	for id, fate := range all {
		if is(&fate) {
			some[id] = true
		}
	}
	return some, err
}

// findFates is nil where nothing was ever decided.
func findFates(ctx context.Context, js jetstream.JetStream) (*Fates, error) {
	bucket, err := js.KeyValue(ctx, FateBucket)
	if errors.Is(err, jetstream.ErrBucketNotFound) {
		return nil, nil //nolint:nilnil // said above
	}
	if err != nil {
		return nil, fmt.Errorf("look what was decided of runs: %w", err)
	}
	return &Fates{bucket: bucket, js: js}, nil
}
