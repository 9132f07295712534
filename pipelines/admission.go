package pipelines

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/tensortap/tensortap/schemas"
)

// ErrRankTaken says that a rank of that run lives, or has ended by itself and is not to be resumed, or came another way.
var ErrRankTaken = errors.New("the run's name is taken")

// States of a start of a rank.
const (
	StartLives = "lives"
	StartEnded = "ended"
	StartDied  = "died"

	startRefused = "refused" // it came while another process lived as that rank
)

// start is one start of a process, as the bucket keeps it.
type start struct {
	Epoch string `json:"epoch"` // 16 hex digits
	State string `json:"state"`
	Next  uint32 `json:"next,omitempty"` // one more than its last step, once it is over

	Launch string `json:"launch,omitempty"` // by which it began; earlier releases wrote none
	Apart  bool   `json:"apart,omitempty"`  // another process of its launch may be this rank, as a parent whose child came first
}

// StartRequest asks to publish one start of a process as a rank of a run.
type StartRequest struct {
	RunID  uint64
	Rank   uint32
	Epoch  uint64
	Resume bool   // the rank may have ended
	Launch string // by which the process began; empty where that is not known
	World  uint32 // ranks of the run, as far as the process knows; 0 for not known
	Apart  bool   // it is another process than the one of its launch that has the rank, and does not take its place
}

// Key is where the bucket of sources has the starts of the rank.
func (r StartRequest) Key() string { return fmt.Sprintf("%s.%d", schemas.FormatID(r.RunID), r.Rank) }

// Admission is the place of a start among those of its rank.
type Admission struct {
	Rank       uint32 // the one asked for or, where another process of the launch has that, one of its own
	Generation uint32 // of its steps, from 0: steps that a later start repeats replace those of an earlier one
	From       uint32 // the first step behind all that earlier starts have ended
}

// Admit returns the place of this start of the rank. A start that it knows has the same place again. A live rank is refused
// with ErrRankTaken, and so is an ended one, unless it is resumed. A rank that died is simply started again. Of processes of one launch none
// is refused: one that does not take the place of the other has a rank of its own, beyond all others.
func Admit(ctx context.Context, js jetstream.JetStream, r StartRequest) (place Admission, err error) {
	if err := refuseFiles(ctx, js, r); err != nil {
		return place, err
	}
	place, err = r.startRank(ctx, js, false)
	if !errors.Is(err, errElsewhere) {
		return place, err
	}
	taken, found := map[uint32]bool{}, false
	err = eachRank(ctx, js, schemas.FormatID(r.RunID)+".", func(rank uint32, starts []start) {
		taken[rank] = true
		if at, state := r.among(starts); state != "" && state != startRefused {
			place, found = at, true
			place.Rank = rank
		}
	})
	if found || err != nil {
		return place, err
	}
	if place, err = r.startRank(ctx, js, true); errors.Is(err, errApart) {
		return r.startApart(ctx, js, taken)
	}
	return place, err
}

// errElsewhere says that the process may have a rank of its own already, as another process of its launch has this one, or had it.
var errElsewhere = errors.New("the process may have another rank")

// errApart says that another process of the launch has the rank: this one gets another.
var errApart = errors.New("another process of the launch has that rank")

// startRank adds the process to those of the rank. Unless it was looked for among all ranks, it may be an errElsewhere.
func (r StartRequest) startRank(ctx context.Context, js jetstream.JetStream, looked bool) (place Admission, err error) { //nolint:revive // flag-parameter: what the caller knows
	err = changeStarts(ctx, js, r, func(starts []start) (with []start, err error) {
		if !looked && r.mayBeElsewhere(starts) {
			return nil, errElsewhere
		}
		place, with, err = r.begin(starts)
		return with, err
	})
	return place, err
}

func (r StartRequest) mayBeElsewhere(starts []start) bool {
	_, state := r.among(starts)
	ofLaunch := func(s start) bool { return r.Launch != "" && s.Launch == r.Launch }
	return r.Apart || state == "" && slices.ContainsFunc(starts, ofLaunch)
}

// begin adds the process to the starts of a rank, unless it is there.
func (r StartRequest) begin(starts []start) (place Admission, with []start, err error) {
	place, state := r.among(starts)
	last := lastStart(starts)
	beside := r.Launch != "" && r.Launch == last.Launch && (r.Apart || last.Apart || last.State == StartEnded && !r.Resume)
	switch {
	case state == startRefused:
		return place, nil, fmt.Errorf("%w: its rank %d was another process, which lived, when this one began", ErrRankTaken, r.Rank)
	case state != "":
		return place, starts, nil
	case beside:
		return place, nil, errApart
	case last.State == StartLives:
		return place, nil, fmt.Errorf("%w: its rank %d lives, as epoch %s", ErrRankTaken, r.Rank, last.Epoch)
	case last.State == StartEnded && !r.Resume:
		return place, nil, fmt.Errorf("%w: its rank %d has ended, as epoch %s; start under another name, or resume it", ErrRankTaken, r.Rank, last.Epoch)
	}
	return place, append(starts, start{Epoch: schemas.FormatID(r.Epoch), State: StartLives, Launch: r.Launch, Apart: r.Apart}), nil
}

// among is the place of the process among the starts and its state there or, without a state, the next place.
func (r StartRequest) among(starts []start) (place Admission, state string) {
	place.Rank = r.Rank
	for i, s := range starts {
		if s.Epoch == schemas.FormatID(r.Epoch) {
			place.Generation = uint32(i) //nolint:gosec // few starts
			return place, s.State
		}
		place.From = max(place.From, s.Next)
	}
	place.Generation = uint32(len(starts)) //nolint:gosec // few starts
	return place, ""
}

// startApart gives the process the first rank beyond all that the run has.
func (r StartRequest) startApart(ctx context.Context, js jetstream.JetStream, taken map[uint32]bool) (place Admission, err error) {
	for r.Rank = max(r.World, 1); ; r.Rank++ {
		if taken[r.Rank] {
			continue
		}
		err = changeStarts(ctx, js, r, func(starts []start) (with []start, err error) {
			if len(starts) > 0 {
				return nil, errApart // another was faster
			}
			place, with, err = r.begin(starts)
			return with, err
		})
		if !errors.Is(err, errApart) {
			return place, err
		}
	}
}

// lastStart is the last one that was admitted; without a state where there is none.
func lastStart(starts []start) start {
	for _, s := range slices.Backward(starts) {
		if s.State != startRefused {
			return s
		}
	}
	return start{}
}

// RefuseStart notes that the process is not to be admitted, whatever becomes of the rank: it lived beside the one that is.
func RefuseStart(ctx context.Context, js jetstream.JetStream, r StartRequest) error {
	epoch := schemas.FormatID(r.Epoch)
	return changeStarts(ctx, js, r, func(starts []start) ([]start, error) {
		if slices.ContainsFunc(starts, func(s start) bool { return s.Epoch == epoch }) {
			return starts, nil
		}
		return append(starts, start{Epoch: epoch, State: startRefused}), nil
	})
}

// FinishStart notes that the process is gone, and the number behind that of its last step.
func FinishStart(ctx context.Context, js jetstream.JetStream, r StartRequest, ended bool, next uint32) error { //nolint:revive // flag-parameter: two ways to go
	return changeStarts(ctx, js, r, func(starts []start) ([]start, error) {
		for i := range starts {
			if starts[i].Epoch != schemas.FormatID(r.Epoch) {
				continue
			}
			starts[i].State, starts[i].Next = StartDied, next
			if ended {
				starts[i].State = StartEnded
			}
		}
		return starts, nil
	})
}

// Started is a start of a rank of which rows are stored.
type Started struct {
	Epoch      uint64
	State      string // StartLives, StartEnded or StartDied
	Generation uint32 // its place among the starts, or 0 where that is not known
	Next       uint32 // one more than its last step
}

// Readmit makes the list of the starts of a rank again, in the order in which they are given, and says whether it was lost.
func (c *Claims) Readmit(ctx context.Context, r StartRequest, all []Started) (lost bool, err error) {
	var starts []start
	for _, s := range all {
		for uint32(len(starts)) < s.Generation { //nolint:gosec // few starts
			starts = append(starts, start{Epoch: schemas.FormatID(0), State: StartDied}) // one that left no row
		}
		starts = append(starts, start{Epoch: schemas.FormatID(s.Epoch), State: s.State, Next: s.Next})
	}
	value, _ := json.Marshal(starts) //nolint:errchkjson // strings always encode
	return c.create(ctx, r.Key(), value)
}

// changeStarts applies the change to the list of starts, again and again if someone else is faster.
func changeStarts(ctx context.Context, js jetstream.JetStream, r StartRequest, change func([]start) ([]start, error)) error {
	bucket, err := js.KeyValue(ctx, SourceBucket)
	if err != nil {
		return fmt.Errorf("admit rank %s: %w", r.Key(), err)
	}
	for {
		err := tryChange(ctx, bucket, r.Key(), change)
		if errors.Is(err, jetstream.ErrKeyExists) || errors.Is(err, jetstream.ErrKeyRevisionMismatch) {
			continue
		}
		if err != nil {
			return fmt.Errorf("admit rank %s: %w", r.Key(), err)
		}
		return nil
	}
}

func tryChange(ctx context.Context, bucket jetstream.KeyValue, key string, change func([]start) ([]start, error)) error {
	var starts []start
	revision := uint64(0)
	entry, err := bucket.Get(ctx, key)
	if err == nil {
		revision = entry.Revision()
		err = json.Unmarshal(entry.Value(), &starts)
	} else if errors.Is(err, jetstream.ErrKeyNotFound) {
		err = nil
	}
	if err != nil {
		return err
	}
	before, _ := json.Marshal(starts) //nolint:errchkjson // strings always encode
	if starts, err = change(starts); err != nil {
		return err
	}
	after, _ := json.Marshal(starts) //nolint:errchkjson // likewise
	switch {
	case string(before) == string(after):
		return nil
	case revision == 0:
		_, err = bucket.Create(ctx, key, after)
	default:
		_, err = bucket.Update(ctx, key, after, revision)
	}
	return err
}

// RanksStarted counts the ranks of a run that were admitted.
func RanksStarted(ctx context.Context, js jetstream.JetStream, runID uint64) (int, error) {
	states, err := RankStates(ctx, js, runID)
	return len(states), err
}

// RankStates gives the state of the last start of each rank of a run: StartLives, or how it ended.
func RankStates(ctx context.Context, js jetstream.JetStream, runID uint64) (map[uint32]string, error) {
	states, err := rankStates(ctx, js, schemas.FormatID(runID)+".")
	if err != nil {
		return nil, fmt.Errorf("look up the ranks of a run: %w", err)
	}
	return states, nil
}

func rankStates(ctx context.Context, js jetstream.JetStream, prefix string) (map[uint32]string, error) {
	states := map[uint32]string{}
	err := eachRank(ctx, js, prefix, func(rank uint32, starts []start) {
		if last := lastStart(starts); last.State != "" {
			states[rank] = last.State
		}
	})
	return states, err
}

// eachRank visits the starts of each rank whose key begins so.
func eachRank(ctx context.Context, js jetstream.JetStream, prefix string, visit func(rank uint32, starts []start)) error {
	bucket, keys, err := listed(ctx, js, prefix+"*")
	if err != nil {
		return err
	}
	for _, key := range keys {
		rank, err := strconv.ParseUint(key[len(prefix):], 10, 32)
		if err != nil {
			return fmt.Errorf("key %q of bucket %s: %w", key, SourceBucket, err)
		}
		var starts []start
		entry, err := bucket.Get(ctx, key)
		if errors.Is(err, jetstream.ErrKeyNotFound) {
			continue // removed since
		}
		if err == nil {
			err = json.Unmarshal(entry.Value(), &starts)
		}
		if err != nil {
			return fmt.Errorf("key %q of bucket %s: %w", key, SourceBucket, err)
		}
		visit(uint32(rank), starts) //nolint:gosec // 32 bits
	}
	return nil
}
