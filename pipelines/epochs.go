package pipelines

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/tensortap/tensortap/schemas"
)

// startEpochs are the epochs of the live starts of a run.
func startEpochs(ctx context.Context, js jetstream.JetStream, runID uint64) ([]string, error) {
	all, err := StartEpochs(ctx, js, schemas.FormatID(runID))
	var epochs []string
	for epoch := range all {
		epochs = append(epochs, epoch)
	}
	slices.Sort(epochs)
	return epochs, err
}

// StartEpochs has the run of each live start by its epoch, both as text. Runs is an id as text, or * for all.
func StartEpochs(ctx context.Context, js jetstream.JetStream, runs string) (map[string]string, error) {
	bucket, err := js.KeyValue(ctx, SourceBucket)
	if err != nil {
		return nil, fmt.Errorf("list the starts of ranks: %w", err)
	}
	watcher, err := bucket.Watch(ctx, runs+".*", jetstream.IgnoreDeletes())
	if err != nil {
		return nil, fmt.Errorf("list the starts of ranks: %w", err)
	}
	epochs := map[string]string{}
	for entry := range watcher.Updates() {
		if entry == nil { // these were all
			break
		}
		run, _, _ := strings.Cut(entry.Key(), ".")
		var starts []start
		if json.Unmarshal(entry.Value(), &starts) != nil {
			continue
		}
		for _, s := range starts {
			epochs[s.Epoch] = run
		}
	}
	return epochs, errors.Join(ctx.Err(), watcher.Stop())
}
