package system

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/tensortap/tensortap/pipelines"
)

// claimAgain is how long to wait before the stream is asked again.
const claimAgain = 200 * time.Millisecond

// patiently does what the stream may not be able to do just now, as often as
// it takes. The publisher waits in the same way with its messages.
func (p *publishing) patiently(ctx context.Context, do func() error) error {
	told := false
	for {
		err := do()
		if !away(err) || ctx.Err() != nil {
			if told {
				p.waiting(nil)
			}
			return err
		}
		p.waiting(err)
		told = true
		select {
		case <-time.After(claimAgain):
		case <-ctx.Done():
		}
	}
}

// away says whether the error is of a server that is starting, unreachable or out of space.
func away(err error) bool {
	if refused := (*jetstream.APIError)(nil); errors.As(err, &refused) {
		return refused.Code >= http.StatusInternalServerError
	}
	for _, passing := range []error{
		context.DeadlineExceeded, nats.ErrTimeout, nats.ErrNoResponders, nats.ErrDisconnected, nats.ErrConnectionReconnecting,
		jetstream.ErrNoStreamResponse, // the stream takes nothing
	} {
		if errors.Is(err, passing) {
			return true
		}
	}
	return false
}

func (p *publishing) waiting(err error) {
	if p.request.Waiting != nil {
		p.request.Waiting(err)
	}
}

// newPublisher makes one that sends to the system's stream; what no stream takes goes to the folder.
func (p *publishing) newPublisher() (*pipelines.Publisher, error) {
	cfg := pipelines.DefaultConfig().Publish
	cfg.SpillDir, cfg.Metrics = p.client.Endpoint.Folder.spill(), p.client.health.Publishing()
	return pipelines.NewPublisher(cfg, p.client.stream, p.client.now, func(s pipelines.State) { p.waiting(s.Waiting) })
}
