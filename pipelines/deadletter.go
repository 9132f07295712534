package pipelines

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/zeebo/xxh3"

	"github.com/tensortap/tensortap/schemas"
)

const originPublisher = "publisher"

// Bounds of a message's stored description, which may be hostile.
const (
	maxReasonBytes  = 1024
	maxSubjectBytes = 1024
	maxHeaders      = 32
	maxHeaderName   = 128
	maxHeaderValue  = 512
	// deadOverhead is an upper bound for the headers that a message in the dead-letter stream has
	// beside the original ones.
	deadOverhead = 2*maxReasonBytes + 2*maxSubjectBytes + 1024
)

// deadLetter is a message that can not be stored. It is known by its origin,
// its place in the stream and its bytes, so it may be put aside any number of
// times: it counts once.
type deadLetter struct {
	Origin   string
	Subject  string
	Header   nats.Header
	Data     []byte
	Sequence uint64
	TimeNs   int64
	Reason   string
	Location string
}

// digest is a hash of the bytes. Messages that never got into the stream have no place in it that would tell those of the
// same bytes apart, so their subject and id count, too.
func (l deadLetter) digest() uint64 {
	if l.Sequence > 0 {
		return xxh3.Hash(l.Data)
	}
	head := fmt.Sprintf("%q %q ", l.Subject, l.Header.Get(jetstream.MsgIDHeader))
	return xxh3.Hash(append([]byte(head), l.Data...))
}

// name is the same for the same letter, and safe in subjects and file names.
func (l deadLetter) name() string {
	return fmt.Sprintf("%s-%d-%s", l.Origin, l.Sequence, schemas.FormatID(l.digest()))
}

// message is the letter as a row of the report. Its identity is a function of
// the row's key. That of a publisher goes under the run of its message, for which it has a right, so that nobody says of another run
// that it lacks something.
func (l deadLetter) message() (schemas.Message, error) {
	rows := schemas.NewBuilder[schemas.DeadLetterRow]()
	rows.Append(&schemas.DeadLetterRow{
		Origin: l.Origin, StreamSeq: l.Sequence, StreamTimeNs: l.TimeNs,
		Subject: bounded(l.Subject, maxSubjectBytes), Headers: boundedHeaders(l.Header),
		Reason: bounded(l.Reason, maxReasonBytes), Digest: l.digest(), SizeBytes: uint64(len(l.Data)), Location: l.Location,
	})
	id := schemas.Identity{Epoch: xxh3.HashString(l.Origin), Batch: xxh3.HashString(l.name())}
	if l.Origin == originPublisher {
		id.RunID, _ = schemas.RunOfSubject(l.Subject)
	}
	row, err := rows.Message(id)
	if err != nil {
		return schemas.Message{}, fmt.Errorf("describe dead letter %s: %w", l.name(), err)
	}
	return row, nil
}

// own says whether the letter is itself a row about a dead letter. Of such
// the bytes are kept, but no further row is made: that would never end.
func (l deadLetter) own() bool {
	return strings.HasPrefix(l.Subject, "tap."+schemas.DeadLetter().Kind()+".")
}

// put makes the letter durable: bytes, headers and reason in the dead-letter
// stream, or in the spill folder if they are too large for it; then the row.
func (l deadLetter) put(ctx context.Context, js jetstream.JetStream, spillDir string) error {
	original := l.wire()
	limit := int64(maxWireBytes)
	if server := js.Conn().MaxPayload(); server > 0 {
		limit = min(limit, server)
	}
	if int64(original.Size()-len(original.Subject)) > limit {
		path, err := l.spill(spillDir)
		if err != nil {
			return err
		}
		l.Location = path
	} else {
		ack, err := js.PublishMsg(ctx, original)
		if err != nil {
			return fmt.Errorf("put dead letter %s into stream %s: %w", l.name(), DeadStreamName, err)
		}
		l.Location = DeadStreamName + "/" + strconv.FormatUint(ack.Sequence, 10)
	}
	if l.own() {
		return nil
	}
	row, err := l.message()
	if err != nil {
		return err
	}
	if _, err := js.PublishMsg(ctx, newOutgoing(row).wire); err != nil {
		return fmt.Errorf("publish dead letter %s: %w", l.name(), err)
	}
	return nil
}

// wire is the letter for the dead-letter stream. The original headers are one
// JSON object in one header, so the server does not act on them.
func (l deadLetter) wire() *nats.Msg {
	headers, _ := json.Marshal(boundedHeaders(l.Header)) //nolint:errchkjson // strings always encode
	if room := maxWireBytes - len(l.Data) - deadOverhead; len(headers) > room {
		headers = []byte("{}")
	}
	return &nats.Msg{
		Subject: "dead." + l.Origin,
		Data:    l.Data,
		Header: nats.Header{
			jetstream.MsgIDHeader:  {l.name()},
			"Tap-Reason":           {oneLine(bounded(l.Reason, maxReasonBytes))},
			"Tap-Original-Subject": {oneLine(bounded(l.Subject, maxSubjectBytes))},
			"Tap-Original-Headers": {string(headers)},
			"Tap-Stream-Seq":       {strconv.FormatUint(l.Sequence, 10)},
			"Tap-Stream-Time-Ns":   {strconv.FormatInt(l.TimeNs, 10)},
		},
	}
}

// boundedHeaders is the first value of each header, as text, of bounded size.
func boundedHeaders(header nats.Header) map[string]string {
	names := slices.Sorted(maps.Keys(header))
	kept := make(map[string]string, min(len(names), maxHeaders))
	for _, name := range names[:min(len(names), maxHeaders)] {
		kept[bounded(name, maxHeaderName)] = bounded(header.Get(name), maxHeaderValue)
	}
	return kept
}

// bounded is valid text of at most that many bytes.
func bounded(text string, most int) string {
	return strings.ToValidUTF8(text[:min(len(text), most)], "")
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
