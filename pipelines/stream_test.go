package pipelines_test

import (
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/tensortap/tensortap/pipelines"
)

func TestPrepareMakesStreamsThatLoseNothing(t *testing.T) {
	t.Parallel()
	s, cfg := startStream(t), testConfig(t)
	must(t, pipelines.Prepare(t.Context(), s.js, cfg))
	must(t, pipelines.Prepare(t.Context(), s.js, cfg))
	for _, name := range []string{pipelines.StreamName, pipelines.DeadStreamName} {
		stream, err := s.js.Stream(t.Context(), name)
		must(t, err)
		c := stream.CachedInfo().Config
		if c.Discard != jetstream.DiscardNew || c.Retention != jetstream.LimitsPolicy || c.Storage != jetstream.FileStorage ||
			c.MaxAge < 72*time.Hour || c.Duplicates != 10*time.Minute {
			t.Errorf("stream %s: %+v", name, c)
		}
	}
	consumer, err := s.js.Consumer(t.Context(), pipelines.StreamName, "store")
	must(t, err)
	if c := consumer.CachedInfo().Config; c.MaxDeliver != -1 || c.AckPolicy != jetstream.AckExplicitPolicy || c.MaxAckPending < 1<<16 {
		t.Errorf("consumer %+v", c)
	}
}

func TestPrepareMendsAnExistingStreamAndKeepsItsAge(t *testing.T) {
	t.Parallel()
	s, cfg := startStream(t), testConfig(t)
	const month = 30 * 24 * time.Hour
	_, err := s.js.CreateStream(t.Context(), jetstream.StreamConfig{
		Name: pipelines.StreamName, Subjects: []string{"tap.>"}, Storage: jetstream.FileStorage, MaxAge: month, Discard: jetstream.DiscardOld,
	})
	must(t, err)
	must(t, pipelines.Prepare(t.Context(), s.js, cfg))
	stream, err := s.js.Stream(t.Context(), pipelines.StreamName)
	must(t, err)
	if c := stream.CachedInfo().Config; c.Discard != jetstream.DiscardNew || c.MaxBytes != cfg.Stream.MaxBytes || c.MaxAge != month {
		t.Errorf("stream %+v, want our limits and its own age", c)
	}
}

func TestPrepareSaysWhatItCannotChange(t *testing.T) {
	t.Parallel()
	s, cfg := startStream(t), testConfig(t)
	_, err := s.js.CreateStream(t.Context(), jetstream.StreamConfig{
		Name: pipelines.StreamName, Subjects: []string{"tap.>"}, Storage: jetstream.MemoryStorage,
	})
	must(t, err)
	if err := pipelines.Prepare(t.Context(), s.js, cfg); err == nil || !strings.Contains(err.Error(), "change settings of stream TAP") {
		t.Errorf("Prepare over a stream in memory: %v, want an error that names it", err)
	}
}

func TestValidateNamesEverySettingThatIsWrong(t *testing.T) {
	t.Parallel()
	must(t, testConfig(t).Validate())
	cfg := pipelines.DefaultConfig()
	cfg.Stream.MaxAge = time.Hour
	cfg.Publish.WindowBytes = 64 << 20
	cfg.Deliver.PullBytes = 8 << 20
	err := cfg.Validate()
	for _, part := range []string{"stream keeps 1h0m0s", "window 67108864 bytes", "pull 8388608 bytes", "no spill folder"} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("Validate() = %v, want it to say %q", err, part)
		}
	}
}

func TestPrepareLeavesTheSettingsOfABucketToItsAdministrator(t *testing.T) {
	t.Parallel()
	s, cfg := startStream(t), testConfig(t)
	for _, name := range []string{pipelines.SourceBucket, pipelines.LeaseBucket} {
		_, err := s.js.CreateKeyValue(t.Context(), jetstream.KeyValueConfig{Bucket: name, Storage: jetstream.FileStorage, MaxBytes: 1 << 20, TTL: pipelines.LeaseAge})
		must(t, err)
	}
	must(t, pipelines.Prepare(t.Context(), s.js, cfg))
	_, err := pipelines.OpenLeases(t.Context(), s.js, "someone")
	must(t, err)
	for _, name := range []string{pipelines.SourceBucket, pipelines.LeaseBucket} {
		stream, err := s.js.Stream(t.Context(), "KV_"+name)
		must(t, err)
		if got := stream.CachedInfo().Config.MaxBytes; got != 1<<20 { // replicas are kept or lost in the same way
			t.Errorf("bucket %s has a limit of %d bytes, want the one that was set", name, got)
		}
	}
}
