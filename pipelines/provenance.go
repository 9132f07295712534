package pipelines

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/tensortap/tensortap/schemas"
)

// A rank of a run is recorded live or read from files, never both: nothing would say which of two equal steps counts.

// RanksOfFiles counts the ranks of a run that were published from files.
func RanksOfFiles(ctx context.Context, js jetstream.JetStream, runID uint64) (int, error) {
	steps, err := sourceKeys(ctx, js, schemas.FormatID(runID)+".*.*")
	if err != nil {
		return 0, fmt.Errorf("count the ranks of a run: %w", err)
	}
	ranks := map[string]bool{}
	for _, step := range steps {
		ranks[step[:strings.LastIndexByte(step, '.')]] = true
	}
	return len(ranks), nil
}

// refuseFiles is ErrRankTaken for a rank that was published from files.
func refuseFiles(ctx context.Context, js jetstream.JetStream, r StartRequest) error {
	steps, err := sourceKeys(ctx, js, r.Key()+".*")
	if err != nil {
		return fmt.Errorf("admit rank %s: %w", r.Key(), err)
	}
	if len(steps) > 0 {
		return fmt.Errorf("admit rank %s: %w: its rank %d was published from files; start under another name", r.Key(), ErrRankTaken, r.Rank)
	}
	return nil
}

// refuseLive is ErrRankTaken for a step of a rank that was recorded live.
func refuseLive(ctx context.Context, bucket jetstream.KeyValue, want ClaimRequest) error {
	_, err := bucket.Get(ctx, StartRequest{RunID: want.RunID, Rank: want.Rank}.Key())
	switch {
	case errors.Is(err, jetstream.ErrKeyNotFound):
		return nil
	case err != nil:
		return err
	}
	return fmt.Errorf("%w: its rank %d is recorded already, live; publish under another name", ErrRankTaken, want.Rank)
}

// Sources are the keys of all steps and ranks that were published.
func Sources(ctx context.Context, js jetstream.JetStream) (map[string]bool, error) {
	keys, err := sourceKeys(ctx, js, ">")
	if err != nil {
		return nil, fmt.Errorf("list what was published: %w", err)
	}
	known := make(map[string]bool, len(keys))
	for _, key := range keys {
		known[key] = true
	}
	return known, nil
}

func sourceKeys(ctx context.Context, js jetstream.JetStream, filter string) ([]string, error) {
	bucket, err := js.KeyValue(ctx, SourceBucket)
	if err != nil {
		return nil, err
	}
	lister, err := bucket.ListKeysFiltered(ctx, filter)
	if err != nil {
		return nil, err
	}
	var keys []string
	for key := range lister.Keys() {
		keys = append(keys, key)
	}
	return keys, nil
}

// Finished are the steps of ranks all of whose rows the stream has acknowledged, as they were published from files: by key,
// the greatest generation. Runs is an id as text, or * for all.
func Finished(ctx context.Context, js jetstream.JetStream, runs string) (map[string]uint32, error) {
	bucket, err := js.KeyValue(ctx, SourceBucket)
	if errors.Is(err, jetstream.ErrBucketNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list what was published: %w", err)
	}
	watcher, err := bucket.Watch(ctx, runs+".*.*", jetstream.IgnoreDeletes())
	if err != nil {
		return nil, fmt.Errorf("list what was published: %w", err)
	}
	finished := map[string]uint32{}
	for entry := range watcher.Updates() {
		if entry == nil { // these were all
			break
		}
		var s source
		if err := json.Unmarshal(entry.Value(), &s); err == nil && s.Done {
			finished[entry.Key()] = s.Generation
		}
	}
	return finished, errors.Join(ctx.Err(), watcher.Stop())
}
