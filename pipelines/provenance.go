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
	ranks, err := ranksOfFiles(ctx, js, schemas.FormatID(runID)+".*.*")
	if err != nil {
		return 0, fmt.Errorf("count the ranks of a run: %w", err)
	}
	return ranks, nil
}

// ranksOfFiles counts the ranks of which steps of that form were published.
func ranksOfFiles(ctx context.Context, js jetstream.JetStream, steps string) (int, error) {
	bucket, keys, err := listed(ctx, js, steps)
	if err != nil {
		return 0, err
	}
	ranks := map[string]bool{}
	for _, step := range keys {
		rank := step[:strings.LastIndexByte(step, '.')]
		if ranks[rank] {
			continue
		}
		switch _, err := bucket.Get(ctx, step); {
		case errors.Is(err, jetstream.ErrKeyNotFound): // removed since
		case err != nil:
			return 0, err
		default:
			ranks[rank] = true
		}
	}
	return len(ranks), nil
}

// listed is the bucket of sources, and its keys of that form, with those of removed values. It makes no consumer, as the
// bucket's own list does: a producer of least right may make none.
func listed(ctx context.Context, js jetstream.JetStream, filter string) (jetstream.KeyValue, []string, error) {
	bucket, err := js.KeyValue(ctx, SourceBucket)
	if err != nil {
		return nil, nil, err
	}
	stream, err := js.Stream(ctx, "KV_"+SourceBucket)
	if err != nil {
		return nil, nil, err
	}
	const prefix = "$KV." + SourceBucket + "."
	info, err := stream.Info(ctx, jetstream.WithSubjectFilter(prefix+filter))
	if err != nil {
		return nil, nil, err
	}
	var keys []string
	for subject := range info.State.Subjects {
		keys = append(keys, strings.TrimPrefix(subject, prefix))
	}
	return bucket, keys, nil
}

// refuseFiles is ErrRankTaken for a rank that was published from files.
func refuseFiles(ctx context.Context, js jetstream.JetStream, r StartRequest) error {
	ranks, err := ranksOfFiles(ctx, js, r.Key()+".*")
	if err != nil {
		return fmt.Errorf("admit rank %s: %w", r.Key(), err)
	}
	if ranks > 0 {
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
	bucket, err := js.KeyValue(ctx, SourceBucket)
	if err != nil {
		return nil, fmt.Errorf("list what was published: %w", err)
	}
	lister, err := bucket.ListKeysFiltered(ctx, ">")
	if err != nil {
		return nil, fmt.Errorf("list what was published: %w", err)
	}
	known := map[string]bool{}
	for key := range lister.Keys() {
		known[key] = true
	}
	return known, nil
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
