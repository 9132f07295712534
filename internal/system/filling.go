package system

import (
	"context"
	"errors"

	"github.com/tensortap/tensortap/consumers/clickhouse"
	"github.com/tensortap/tensortap/pipelines"
	"github.com/tensortap/tensortap/schemas"
)

// fillingBytes is what a filling holds before it writes: many messages make one insert.
const fillingBytes = 64 << 20

// filling brings the whole stream into new tables. It holds messages by kind, in the order of the stream.
type filling struct {
	to       *clickhouse.Rebuild
	held     map[string][]schemas.Message
	bytes    int
	rejected int
}

// fill has next hold all that the stream holds now.
func (s *System) fill(ctx context.Context, client *Client, next *clickhouse.Rebuild) error {
	f := &filling{to: next, held: map[string][]schemas.Message{}}
	done := int64(0)
	err := pipelines.Read(ctx, client.stream, func(m schemas.Message, left uint64) error {
		if done++; s.cfg.Rebuilding != nil {
			s.cfg.Rebuilding(done, done+int64(left)) //nolint:gosec // a count of messages
		}
		return f.add(ctx, m)
	})
	if err == nil {
		err = f.write(ctx)
	}
	if f.rejected > 0 {
		s.cfg.Log.Warn().Int("messages", f.rejected).Msg("the tables cannot hold some messages of the stream, which are among the dead letters")
	}
	return err
}

func (f *filling) add(ctx context.Context, m schemas.Message) error {
	f.held[m.Header.Kind] = append(f.held[m.Header.Kind], m)
	if f.bytes += len(m.Data); f.bytes < fillingBytes {
		return nil
	}
	return f.write(ctx)
}

// write stores all that is held.
func (f *filling) write(ctx context.Context) error {
	for kind, messages := range f.held {
		err := f.to.Write(ctx, messages)
		if rejected := (*schemas.RejectedError)(nil); errors.As(err, &rejected) {
			f.rejected += len(rejected.Reasons)
		} else if err != nil {
			return err
		}
		delete(f.held, kind)
	}
	f.bytes = 0
	return nil
}
