package system

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"

	"github.com/tensortap/tensortap/pipelines"
)

// claimAgain is how long to wait before the stream is asked again.
const claimAgain = 200 * time.Millisecond

const (
	// mostRefusals is how often a cluster may lack servers that it is to have: for a minute, or longer if it answers slowly.
	mostRefusals = 300
	// mostReasons bounds what is logged of one wait.
	mostReasons = 10
)

// patiently does what the stream may not be able to do just now, as often as it takes, and tells why it waits, and nil when
// that is over. The publisher waits in the same way with its messages.
func patiently(ctx context.Context, waiting func(error), do func() error) error {
	told := false
	refusals := 0
	for {
		err := do()
		forming := pipelines.MayForm(err) && refusals < mostRefusals
		if forming {
			refusals++
		}
		if !forming && !away(err) || ctx.Err() != nil {
			if told {
				waiting(nil)
			}
			return err
		}
		waiting(err)
		told = true
		select {
		case <-time.After(claimAgain):
		case <-ctx.Done():
		}
	}
}

// unhurried does again what a server had no time to answer, as where other programs have the processors. It tells why it waits, and nil
// when that is over.
func unhurried(ctx context.Context, waiting func(error), do func() error) error {
	for {
		err := do()
		slow := errors.Is(err, context.DeadlineExceeded) || errors.Is(err, nats.ErrTimeout)
		if !slow || ctx.Err() != nil {
			waiting(nil)
			return err
		}
		waiting(err)
		select {
		case <-time.After(claimAgain):
		case <-ctx.Done():
		}
	}
}

func (p *publishing) patiently(ctx context.Context, do func() error) error {
	return patiently(ctx, p.waiting, do)
}

// logWaiting is for a role that goes on until it is stopped. It logs each reason of a wait once.
func logWaiting(log zerolog.Logger) func(error) {
	told := map[string]bool{}
	return func(err error) {
		if err == nil {
			clear(told)
			return
		}
		if reason := err.Error(); !told[reason] && len(told) < mostReasons {
			told[reason] = true
			log.Warn().Err(err).Msg("a server does not answer as it should, asking again")
		}
	}
}

// away says whether the error is of a server that is starting, unreachable or out of space.
func away(err error) bool {
	if errors.Is(err, pipelines.ErrTooFewServers) {
		return false
	}
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
	cfg.SpillDir, cfg.Metrics, cfg.Tracer = p.client.Endpoint.Folder.spill(), p.client.health.Publishing(), p.client.health.Tracer()
	return pipelines.NewPublisher(cfg, p.client.stream, p.client.now, func(s pipelines.State) { p.waiting(s.Waiting) })
}
