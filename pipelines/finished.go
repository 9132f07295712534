package pipelines

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/tensortap/tensortap/schemas"
)

// StepOfRank is where files were published to.
type StepOfRank struct{ Rank, Step uint32 }

// Finished are the steps of ranks of a run that were published whole from files, less those that are known to be stored.
func Finished(ctx context.Context, js jetstream.JetStream, runID uint64, stored map[StepOfRank]bool) ([]StepOfRank, error) {
	keys, err := sourceKeys(ctx, js, schemas.FormatID(runID)+".*.*")
	if errors.Is(err, jetstream.ErrBucketNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list what was published: %w", err)
	}
	var finished []StepOfRank
	for _, key := range keys {
		var at StepOfRank
		if _, err := fmt.Sscanf(key[len(schemas.FormatID(runID)):], ".%d.%d", &at.Rank, &at.Step); err != nil {
			return nil, fmt.Errorf("key %q of bucket %s: %w", key, SourceBucket, err)
		}
		if stored[at] {
			continue
		}
		done, err := isDone(ctx, js, key)
		if err != nil {
			return nil, fmt.Errorf("key %q of bucket %s: %w", key, SourceBucket, err)
		}
		if done {
			finished = append(finished, at)
		}
	}
	return finished, nil
}

func isDone(ctx context.Context, js jetstream.JetStream, key string) (bool, error) {
	bucket, err := js.KeyValue(ctx, SourceBucket)
	if err != nil {
		return false, err
	}
	entry, err := bucket.Get(ctx, key)
	if err != nil {
		return false, err
	}
	var claimed source
	err = json.Unmarshal(entry.Value(), &claimed)
	return claimed.Done, err
}
