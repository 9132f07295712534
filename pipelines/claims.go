package pipelines

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/tensortap/tensortap/schemas"
)

// ErrOtherContent says that the step was published before with other content.
// Its caller tells the user about --replace.
var ErrOtherContent = errors.New("published before with other content")

// ClaimRequest asks to publish the files of one step of one rank.
type ClaimRequest struct {
	RunID       uint64
	Rank        uint32
	Step        uint32
	Content     uint64 // xxh3 of the content of the files
	EventTimeNs int64  // used if this is the first time that the content is published
	Replace     bool   // other content replaces the content published before
	Beside      bool   // it stands beside the steps of the run: nothing else has its place
}

// Claim is leave to publish: the rows carry its epoch, generation and time, so
// that publishing the same content again gives the same rows.
type Claim struct {
	RunID       uint64
	Rank        uint32
	Step        uint32
	Epoch       uint64 // of the content at that place and of that generation: other steps may hold the same, and it may come back
	Generation  uint32 // 0, and one more each time that other content took its place; views show the highest
	EventTimeNs int64  // as given when the content was first published
	Done        bool   // all of it was acknowledged before: there is nothing to do

	content  uint64
	beside   bool
	revision uint64
}

// source is a value in the bucket.
type source struct {
	Content string `json:"content"` // 16 hex digits
	// Epoch stands in the place of Content where the claim was made again of stored rows.
	Epoch       string `json:"epoch,omitempty"`
	Generation  uint32 `json:"generation"`
	EventTimeNs int64  `json:"event_time_ns"`
	Done        bool   `json:"done"`
}

// Key is where the bucket of sources has the claim.
func (c Claim) Key() string {
	return ClaimRequest{RunID: c.RunID, Rank: c.Rank, Step: c.Step, Content: c.content, Beside: c.beside}.key()
}

func (r ClaimRequest) key() string {
	if r.Beside {
		return fmt.Sprintf("beside.%s.%d.%s", schemas.FormatID(r.RunID), r.Rank, schemas.FormatID(r.Content))
	}
	return sourceKey(r.RunID, r.Rank, r.Step)
}

func sourceKey(runID uint64, rank, step uint32) string {
	return fmt.Sprintf("%s.%d.%d", schemas.FormatID(runID), rank, step)
}

// Claims is the bucket of claims. Its methods may be called at the same time: each waits for the server, which has
// its answers to many claims on the disk in little more time than the answer to one.
type Claims struct{ bucket jetstream.KeyValue }

// OpenClaims finds the bucket.
func OpenClaims(ctx context.Context, js jetstream.JetStream) (*Claims, error) {
	bucket, err := js.KeyValue(ctx, SourceBucket)
	if err != nil {
		return nil, fmt.Errorf("open bucket %s: %w", SourceBucket, err)
	}
	return &Claims{bucket}, nil
}

// Make claims the step for that content. Of several claims at the same
// time for other content one wins; the others get ErrOtherContent. A rank that
// was recorded live is refused with ErrRankTaken.
func (c *Claims) Make(ctx context.Context, want ClaimRequest) (Claim, error) {
	key := want.key()
	for {
		claim, err := tryClaim(ctx, c.bucket, key, want)
		if errors.Is(err, jetstream.ErrKeyExists) || errors.Is(err, jetstream.ErrKeyRevisionMismatch) {
			continue // another publisher was faster: read its claim
		}
		if err != nil {
			return Claim{}, fmt.Errorf("claim source %s: %w", key, err)
		}
		return claim, nil
	}
}

func tryClaim(ctx context.Context, bucket jetstream.KeyValue, key string, want ClaimRequest) (Claim, error) {
	next := source{Content: schemas.FormatID(want.Content), EventTimeNs: want.EventTimeNs}
	entry, err := bucket.Get(ctx, key)
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		if err := refuseLive(ctx, bucket, want); err != nil && !want.Beside {
			return Claim{}, err
		}
		revision, err := bucket.Create(ctx, key, next.bytes())
		return want.claim(next, revision), err
	}
	if err != nil {
		return Claim{}, err
	}
	var have source
	if err := json.Unmarshal(entry.Value(), &have); err != nil {
		return Claim{}, fmt.Errorf("read revision %d: %w", entry.Revision(), err)
	}
	switch {
	case have.isOf(want):
		return want.claim(have, entry.Revision()), nil
	case !want.Replace:
		return Claim{}, ErrOtherContent
	}
	next.Generation = have.Generation + 1
	revision, err := bucket.Update(ctx, key, next.bytes(), entry.Revision())
	return want.claim(next, revision), err
}

// Finish notes that all of the claimed content was acknowledged by the stream.
// ErrOtherContent means that someone replaced it meanwhile.
func (c *Claims) Finish(ctx context.Context, claim Claim) error {
	if claim.Done {
		return nil
	}
	key := claim.Key()
	done := source{Content: schemas.FormatID(claim.content), Generation: claim.Generation, EventTimeNs: claim.EventTimeNs, Done: true}
	_, err := c.bucket.Update(ctx, key, done.bytes(), claim.revision)
	if errors.Is(err, jetstream.ErrKeyRevisionMismatch) {
		return claim.finishedElsewhere(ctx, c.bucket, key)
	}
	if err != nil {
		return fmt.Errorf("finish source %s: %w", key, err)
	}
	return nil
}

// Renew claims published content once more, as another generation: of the one before something was refused by a store, which keeps
// to what it decided of a batch.
func (c *Claims) Renew(ctx context.Context, claim Claim) (Claim, error) {
	want := ClaimRequest{RunID: claim.RunID, Rank: claim.Rank, Step: claim.Step, Content: claim.content, EventTimeNs: claim.EventTimeNs, Beside: claim.beside}
	next := source{Content: schemas.FormatID(claim.content), Generation: claim.Generation + 1, EventTimeNs: claim.EventTimeNs}
	revision, err := c.bucket.Update(ctx, want.key(), next.bytes(), claim.revision)
	if err != nil {
		return claim, fmt.Errorf("claim source %s once more: %w", want.key(), err)
	}
	return want.claim(next, revision), nil
}

// finishedElsewhere tells another publisher of the same content from one that replaced it.
func (c Claim) finishedElsewhere(ctx context.Context, bucket jetstream.KeyValue, key string) error {
	entry, err := bucket.Get(ctx, key)
	if err != nil {
		return fmt.Errorf("finish source %s: %w", key, err)
	}
	var have source
	if err := json.Unmarshal(entry.Value(), &have); err != nil {
		return fmt.Errorf("finish source %s: read revision %d: %w", key, entry.Revision(), err)
	}
	if have.Done && have.Content == schemas.FormatID(c.content) && have.Generation == c.Generation {
		return nil
	}
	return fmt.Errorf("finish source %s: %w", key, ErrOtherContent)
}

func (r ClaimRequest) claim(s source, revision uint64) Claim {
	return Claim{
		RunID: r.RunID, Rank: r.Rank, Step: r.Step, Generation: s.Generation, EventTimeNs: s.EventTimeNs, Done: s.Done,
		Epoch: schemas.FileEpoch(r.Content, r.Step, s.Generation), content: r.Content, beside: r.Beside, revision: revision,
	}
}

// isOf says whether it is of that content.
func (s source) isOf(want ClaimRequest) bool {
	if s.Epoch != "" {
		return s.Epoch == schemas.FormatID(schemas.FileEpoch(want.Content, want.Step, s.Generation))
	}
	return s.Content == schemas.FormatID(want.Content)
}

// Reclaim makes the claim of a step again whose rows are stored, and says whether it was lost.
func (c *Claims) Reclaim(ctx context.Context, claim Claim) (lost bool, err error) {
	value := source{Epoch: schemas.FormatID(claim.Epoch), Generation: claim.Generation, EventTimeNs: claim.EventTimeNs, Done: claim.Done}
	return c.create(ctx, claim.Key(), value.bytes())
}

// create says whether the key was not there.
func (c *Claims) create(ctx context.Context, key string, value []byte) (bool, error) {
	_, err := c.bucket.Create(ctx, key, value)
	if errors.Is(err, jetstream.ErrKeyExists) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("claim source %s again: %w", key, err)
	}
	return true, nil
}

func (s source) bytes() []byte {
	text, _ := json.Marshal(s) //nolint:errchkjson // strings and numbers always encode
	return text
}
