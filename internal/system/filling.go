package system

import (
	"context"

	"github.com/tensortap/tensortap/consumers/clickhouse"
	"github.com/tensortap/tensortap/pipelines"
	"github.com/tensortap/tensortap/schemas"
)

// fillingBytes is what a rebuild holds before it writes: many messages make one insert.
const fillingBytes = 64 << 20

// fill has next hold all that the stream holds now.
func (s *System) fill(ctx context.Context, client *Client, next *clickhouse.Rebuild) error {
	rejected := 0
	into := together{to: next.Write, most: fillingBytes, told: func(_ schemas.Message, refusal string) {
		if refusal != "" {
			rejected++
		}
	}}
	done := int64(0)
	err := pipelines.Read(ctx, client.stream, func(m schemas.Message, left uint64) error {
		if done++; s.cfg.Rebuilding != nil {
			s.cfg.Rebuilding(done, done+int64(left)) //nolint:gosec // a count of messages
		}
		return into.add(ctx, m)
	})
	if err == nil {
		err = into.flush(ctx)
	}
	if rejected > 0 {
		s.cfg.Log.Warn().Int("messages", rejected).Msg("the tables cannot hold some messages of the stream, which are among the dead letters")
	}
	return err
}
