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
	stream, err := client.streamInfo(ctx)
	if err != nil {
		return err
	}
	done, last := int64(0), stream.State.LastSeq
	for m, err := range pipelines.Kept(ctx, client.stream, 1, last) {
		if err != nil {
			return err
		}
		if done++; s.cfg.Rebuilding != nil {
			s.cfg.Rebuilding(done, done+int64(last-m.Sequence)) //nolint:gosec // a count of messages
		}
		if s.deleted.Has(m) {
			continue
		}
		if err := into.add(ctx, m); err != nil {
			return err
		}
	}
	err = into.flush(ctx)
	if rejected > 0 {
		s.cfg.Log.Warn().Int("messages", rejected).Msg("the tables cannot hold some messages of the stream, which are among the dead letters")
	}
	return err
}
