package system

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/zeebo/xxh3"

	"github.com/tensortap/tensortap/internal/durable"
	"github.com/tensortap/tensortap/internal/plural"
	"github.com/tensortap/tensortap/pipelines"
)

// mark is how far the stores have had the stream. It is kept outside of the stream: a NATS server cuts a damaged end off as
// it starts, and sets its consumers back to that.
type mark struct {
	made     int64 // when the stream was made, in ns: a new one has a mark of its own
	sequence uint64
}

const (
	markEvery    = 2 * time.Second
	markPatience = 10 * time.Second // at the end
)

func (f Folder) mark() string { return filepath.Join(string(f), "stored") }

// line is the mark as it stands in its file, with a checksum.
func (m mark) line() string {
	text := fmt.Sprintf("%d %d", m.made, m.sequence)
	return fmt.Sprintf("%s %016x\n", text, xxh3.HashString(text))
}

// readMark is the zero mark where there is none, or it is damaged: the next one takes its place.
func readMark(folder Folder) mark {
	text, _ := os.ReadFile(folder.mark())
	var m mark
	if _, err := fmt.Sscan(string(text), &m.made, &m.sequence); err != nil || m.line() != string(text) {
		return mark{}
	}
	return m
}

// cut is an error where the stream ends before its mark.
func (m mark) cut(info *jetstream.StreamInfo) error {
	if m.made != info.Created.UnixNano() || info.State.LastSeq >= m.sequence {
		return nil
	}
	return fmt.Errorf("the end of the stream was lost: it ends at message %d, and the stores have had messages up to %d", info.State.LastSeq, m.sequence)
}

// lacking is an error where the stream lost its end, or messages before that.
func (c *Client) lacking(ctx context.Context, m mark, info *jetstream.StreamInfo) error {
	gone, err := c.lostMessages(ctx, info)
	if gone > 0 {
		err = fmt.Errorf("%s of it %s gone", plural.Of(gone, "message"), plural.Verb(gone, "is", "are"))
	}
	return errors.Join(err, m.cut(info))
}

// lookAtStream says how far the stream goes, and notes what it lacks and what was published.
func (c *Client) lookAtStream(ctx context.Context, a *account) (jetstream.StreamState, error) {
	info, err := c.streamInfo(ctx)
	if err != nil {
		return jetstream.StreamState{}, err
	}
	a.streamDamaged = errors.Join(a.streamDamaged, c.lacking(ctx, readMark(c.Endpoint.Folder), info))
	a.finished, err = pipelines.Finished(ctx, c.stream, "*")
	return info.State, err
}

// moveMark notes how far the stores have come. It never goes back, so that a cut is told until the stream is longer again.
func (s *System) moveMark(ctx context.Context, client *Client) error {
	info, err := client.streamInfo(ctx)
	if err != nil {
		return err
	}
	last, next := readMark(s.cfg.Folder), mark{made: info.Created.UnixNano()}
	if last.made == next.made {
		next.sequence = last.sequence
	}
	for _, consumer := range []string{databaseConsumer, archiveConsumer} {
		progress, err := pipelines.ConsumerProgress(ctx, client.stream, consumer)
		if err != nil {
			return err
		}
		next.sequence = max(next.sequence, progress.StoredUpTo)
	}
	if next == last {
		return nil
	}
	return durable.WriteFile(s.cfg.Folder.mark(), strings.NewReader(next.line()))
}

// keepMark moves the mark from time to time until ctx ends. A server that does not answer now does so later.
func (s *System) keepMark(ctx context.Context, client *Client) error {
	tick := time.NewTicker(markEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), markPatience)
			defer cancel()
			_ = s.moveMark(ending, client)
			return nil
		}
		if err := s.moveMark(ctx, client); err != nil && ctx.Err() == nil {
			s.cfg.Log.Debug().Err(err).Msg("not noted how far the stores have had the stream")
		}
	}
}

// tellCut says at the start that the stream lost messages, or is another than the stores have had.
func (s *System) tellCut(ctx context.Context, client *Client) error {
	info, err := client.streamInfo(ctx)
	if err != nil {
		return err
	}
	last := readMark(s.cfg.Folder)
	if err := client.lacking(ctx, last, info); err != nil {
		s.cfg.Log.Error().Err(err).Msg("the stream is damaged: tables and archive keep what they had of it, see `tensortap verify`")
	}
	if last.sequence > 0 && last.made != info.Created.UnixNano() {
		s.cfg.Log.Warn().Uint64("messages", last.sequence).Msg("the stream is a new one: tables and archive keep what they had of the one before, see `tensortap verify`")
	}
	return nil
}
