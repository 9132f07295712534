package pipelines

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/klauspost/compress/s2"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const (
	// measurePatience is how long a measurement may take: the server takes no later answer.
	measurePatience = 2 * time.Minute
	// mostMeasures is how many questions wait in one process while it measures; others are not answered.
	mostMeasures = 16
	// mostMeasured bounds an answer that is unpacked, in bytes: some 700,000 runs and kinds.
	mostMeasured = 64 << 20
	// measurers share the questions: one of them answers each.
	measurers = "measurers"
)

// measurement is the answer to who asks what the stream holds.
type measurement struct {
	Shares []measuredShare `json:"shares"`
	Error  string          `json:"error,omitempty"` // why it is not known
}

type measuredShare struct {
	RunID uint64 `json:"run"`
	Kind  string `json:"kind"`

	StreamShare
}

// AnswerMeasures tells who asks what the stream holds until ctx ends: who may ask need not be let read the stream.
func AnswerMeasures(ctx context.Context, js jetstream.JetStream) error {
	asked := make(chan *nats.Msg, mostMeasures)
	heard, err := js.Conn().ChanQueueSubscribe(MeasureSubject, measurers, asked)
	if err != nil {
		return fmt.Errorf("listen for who asks what the stream holds: %w", err)
	}
	for {
		select {
		case question := <-asked:
			_ = question.Respond(answerMeasure(ctx, js)) // who asked is told that nobody answered
		case <-ctx.Done():
			_ = heard.Unsubscribe() // it ends with the connection, too
			return nil
		}
	}
}

func answerMeasure(ctx context.Context, js jetstream.JetStream) []byte {
	measuring, cancel := context.WithTimeout(ctx, measurePatience)
	defer cancel()
	var answer measurement
	shares, err := StreamShares(measuring, js)
	for of, share := range shares {
		answer.Shares = append(answer.Shares, measuredShare{of.RunID, of.Kind, share})
	}
	packed := answer.pack(err)
	if most := js.Conn().MaxPayload(); int64(len(packed)) > most {
		return (&measurement{}).pack(fmt.Errorf("the answer has %d bytes, the NATS server takes %d: measure with rights to read the stream", len(packed), most))
	}
	return packed
}

func (m *measurement) pack(err error) []byte {
	if err != nil {
		m.Shares, m.Error = nil, err.Error()
	}
	text, _ := json.Marshal(m) //nolint:errchkjson // numbers and strings always encode
	return s2.Encode(nil, text)
}

// AskShares is StreamShares as a process says it that stores the stream. Where none listens, it reads the stream itself.
func AskShares(ctx context.Context, js jetstream.JetStream) (map[Shareholder]StreamShare, error) {
	asking, cancel := context.WithTimeout(ctx, measurePatience)
	defer cancel()
	m, err := askMeasure(asking, js.Conn())
	if errors.Is(err, nats.ErrNoResponders) {
		shares, err := StreamShares(ctx, js)
		if err != nil {
			err = fmt.Errorf("nobody who stores the stream answers, and to read it oneself takes the rights of admin: %w", err)
		}
		return shares, err
	}
	if err != nil {
		return nil, fmt.Errorf("ask who stores the stream what it holds, for %v: %w", measurePatience, err)
	}
	return unpackShares(m.Data)
}

// askMeasure is an error at once for who may not ask: the server does not answer it.
func askMeasure(ctx context.Context, conn *nats.Conn) (*nats.Msg, error) {
	answers, err := conn.SubscribeSync(conn.NewInbox())
	if err != nil {
		return nil, err
	}
	defer answers.Unsubscribe() //nolint:errcheck // it ends with the connection, too
	if err := conn.PublishRequest(MeasureSubject, answers.Subject, nil); err != nil {
		return nil, err
	}
	if err := conn.FlushWithContext(ctx); err != nil {
		return nil, err
	}
	if err := conn.LastError(); errors.Is(err, nats.ErrPermissionViolation) && strings.Contains(err.Error(), strconv.Quote(MeasureSubject)) {
		return nil, fmt.Errorf("this user of NATS may not ask it, the user operator may: %w", nats.ErrPermissionViolation)
	}
	return answers.NextMsgWithContext(ctx)
}

func unpackShares(data []byte) (map[Shareholder]StreamShare, error) {
	var answer measurement
	size, err := s2.DecodedLen(data)
	if err == nil && size > mostMeasured {
		err = fmt.Errorf("%d bytes are more than %d", size, mostMeasured)
	}
	var text []byte
	if err == nil {
		text, err = s2.Decode(nil, data)
	}
	if err == nil {
		err = json.Unmarshal(text, &answer)
	}
	if err == nil && answer.Error != "" {
		err = errors.New(answer.Error)
	}
	if err != nil {
		return nil, fmt.Errorf("ask who stores the stream what it holds: %w", err)
	}
	shares := make(map[Shareholder]StreamShare, len(answer.Shares))
	for _, s := range answer.Shares {
		shares[Shareholder{s.RunID, s.Kind}] = s.StreamShare
	}
	return shares, nil
}
