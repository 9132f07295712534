// Package audit writes down who changed something, or read something out of a process: a line before the deed, and one with
// its result.
package audit

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/tensortap/tensortap/schemas"
)

// Who does a deed.
type Who struct {
	SystemUser  string // of the operating system
	Host        string
	NATSUser    string // by which it logged in; empty where no user did
	Credentials string // file of these, without its folder
}

// String is who it is in one line of a log.
func (w Who) String() string {
	text := w.SystemUser + " on " + w.Host
	if w.NATSUser != "" {
		text += ", user " + w.NATSUser + " of NATS"
	}
	return text
}

// Deed is what is done.
type Deed struct {
	Name    string // as the command is named
	Run     string // empty where it is about none
	Target  string // what else it is done to
	Details map[string]string
}

// Results of deeds.
const (
	Done    = "done"
	Partly  = "partly"
	Refused = "refused"
	Failed  = "failed"
)

// Outcome is what became of a deed.
type Outcome struct{ Result, Reason string }

// Of is the outcome of a deed that is done or fails as a whole.
func Of(err error) Outcome {
	switch refused := (*refusal)(nil); {
	case err == nil:
		return Outcome{Result: Done}
	case errors.As(err, &refused):
		return Outcome{Refused, err.Error()}
	default:
		return Outcome{Failed, err.Error()}
	}
}

// refusal is an error that says that a deed may not be done as things stand.
type refusal struct{ error }

// Unwrap gives the error as it was.
func (r *refusal) Unwrap() error { return r.error }

// Refuse marks the error of a deed that is refused.
func Refuse(why error) error { return &refusal{why} }

// ErrNoRoom says that a line cannot be kept for want of room. A deed is done all the same, as it may be what makes room, and
// its lines are written after it.
var ErrNoRoom = errors.New("the stream has no room")

// Limits of a line. What is longer is cut.
const (
	longestText = 1000 // bytes
	mostDetails = 32
)

// How long lines that found no room are tried after the deed.
const (
	tryAgainFor   = 5 * time.Second
	tryAgainEvery = 200 * time.Millisecond
)

// Book is where the lines go.
type Book struct {
	// Write returns once the line is kept.
	Write func(context.Context, schemas.Message) error
	Who   Who
	Now   func() time.Time
}

// Do writes that the deed begins, does it, and writes what became of it. Without its first line it is not done.
func (b *Book) Do(ctx context.Context, deed Deed, do func() (Outcome, error)) error {
	row := b.row(deed)
	var late []schemas.Message
	first, err := line(&row)
	if err == nil {
		err = b.Write(ctx, first)
	}
	switch {
	case errors.Is(err, ErrNoRoom):
		late = append(late, first)
	case err != nil:
		return fmt.Errorf("%s was not done, as its line of audit could not be written: %w", deed.Name, err)
	}
	outcome, failed := do()
	row.Ordinal, row.WrittenTimeNs = 1, b.Now().UnixNano()
	row.Result, row.Reason = outcome.Result, bounded(outcome.Reason)
	last, err := line(&row)
	if err == nil {
		err = b.writeAll(context.WithoutCancel(ctx), append(late, last))
	}
	if err != nil {
		failed = errors.Join(failed, fmt.Errorf("the result of %s, %q, could not be written as a line of audit: %w", deed.Name, outcome.Result, err))
	}
	return failed
}

// row is the line before the deed.
func (b *Book) row(deed Deed) schemas.AuditRow {
	details := make(map[string]string, len(deed.Details))
	for name, value := range deed.Details {
		if len(details) < mostDetails {
			details[name] = bounded(value)
		}
	}
	return schemas.AuditRow{
		DeedID: rand.Uint64(), WrittenTimeNs: b.Now().UnixNano(), //nolint:gosec // tells deeds apart, no secret
		Deed: deed.Name, RunName: deed.Run, Target: bounded(deed.Target), Details: details,
		SystemUser: bounded(b.Who.SystemUser), Host: bounded(b.Who.Host), NatsUser: bounded(b.Who.NATSUser), Credentials: bounded(b.Who.Credentials),
	}
}

func bounded(text string) string {
	if len(text) <= longestText {
		return text
	}
	return text[:longestText] + "…"
}

// writeAll tries again where there is no room: the deed may have made some.
func (b *Book) writeAll(ctx context.Context, lines []schemas.Message) error {
	ctx, cancel := context.WithTimeout(ctx, tryAgainFor)
	defer cancel()
	for len(lines) > 0 {
		err := b.Write(ctx, lines[0])
		if err == nil {
			lines = lines[1:]
			continue
		}
		if !errors.Is(err, ErrNoRoom) {
			return err
		}
		select {
		case <-time.After(tryAgainEvery):
		case <-ctx.Done():
			return err
		}
	}
	return nil
}

// line is the message of a row. Its id is the deed's, so that a line that is sent twice is kept once. It goes with no run.
func line(row *schemas.AuditRow) (schemas.Message, error) {
	rows := schemas.NewBuilder[schemas.AuditRow]()
	rows.Append(row)
	return rows.Message(schemas.Identity{Rank: schemas.NoRank, Epoch: row.DeedID, Batch: uint64(row.Ordinal)})
}
