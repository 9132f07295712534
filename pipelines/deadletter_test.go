package pipelines_test

import (
	"bytes"
	"context"
	"strconv"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/tensortap/tensortap/pipelines"
	"github.com/tensortap/tensortap/schemas"
)

func TestMalformedMessagesAreDeadLetteredWithReason(t *testing.T) {
	t.Parallel()
	s, cfg := startStream(t), testConfig(t)
	must(t, pipelines.Prepare(t.Context(), s.js, cfg))
	sink := newRecorder()
	sink.before = refuseUnreadable
	d, _ := deliver(t, s, cfg, sink)
	cases := malformed(t)
	sequences := make([]uint64, len(cases)) // rows about dead letters come in between
	for i, c := range cases {
		ack, err := s.js.PublishMsg(t.Context(), c.wire)
		must(t, err)
		sequences[i] = ack.Sequence
	}
	publishSteps(t, s, cfg, 1000, 1010)
	eventually(t, "dead letters stored", func() bool {
		return d.Metrics().Snapshot().DeadLetters == int64(len(cases)) && settled(t, s)()
	})
	rows := map[uint64]schemas.DeadLetterRow{}
	for _, row := range sink.deadLetters(t) {
		rows[row.StreamSeq] = row
	}
	dead, err := s.js.Stream(t.Context(), pipelines.DeadStreamName)
	must(t, err)
	for i, c := range cases {
		row, ok := rows[sequences[i]]
		if c.reason == "" {
			if ok {
				t.Errorf("%s: row %+v, want none", c.name, row)
			}
			continue
		}
		if !strings.Contains(row.Reason, c.reason) || row.SizeBytes != uint64(len(c.wire.Data)) {
			t.Errorf("%s: %+v, want a reason that holds %q and %d bytes", c.name, row, c.reason, len(c.wire.Data))
		}
		kept, err := dead.GetMsg(t.Context(), sequenceOf(t, row))
		must(t, err)
		if !bytes.Equal(kept.Data, c.wire.Data) {
			t.Errorf("%s: %d bytes kept, want the %d that came", c.name, len(kept.Data), len(c.wire.Data))
		}
	}
	if n := dead.CachedInfo().State.Msgs; int(n) != len(cases) {
		t.Errorf("%d messages in the dead-letter stream, want %d", n, len(cases))
	}
	if n := len(sink.kind("step")); n != 10 {
		t.Errorf("%d good messages stored, want 10", n)
	}
	if got := d.Metrics().Snapshot(); got.DeadLetters != int64(len(cases)) {
		t.Errorf("%d dead letters counted, want %d", got.DeadLetters, len(cases))
	}
}

// refuseUnreadable refuses data that it cannot decode, as every sink does.
func refuseUnreadable(_ context.Context, messages []schemas.Message) error {
	reasons := map[int]string{}
	for i, m := range messages {
		if _, err := m.Record(); err != nil {
			reasons[i] = err.Error()
		}
	}
	if len(reasons) == 0 {
		return nil
	}
	return &schemas.RejectedError{Reasons: reasons}
}

type malformedCase struct {
	name   string
	reason string // empty: a letter about a letter, which has no row
	wire   *nats.Msg
}

func malformed(tb testing.TB) []malformedCase {
	tb.Helper()
	good := func(batch int) *nats.Msg {
		m := steps(tb, identity(batch), 2)
		return &nats.Msg{Subject: m.Subject(), Header: m.NATSHeader(), Data: m.Data}
	}
	flipped, unknown, version, checksum := good(0), good(1), good(2), good(3)
	flipped.Data = append([]byte(nil), flipped.Data...)
	flipped.Data[len(flipped.Data)/2] ^= 1
	unknown.Header.Set("Tap-Schema", "weather/1")
	unknown.Header.Set(jetstream.MsgIDHeader, strings.Replace(unknown.Header.Get(jetstream.MsgIDHeader), "step", "weather", 1))
	version.Header.Set("Tap-Schema", "step/9")
	checksum.Header.Set("Tap-Crc32c", "00000000")
	rows, lying, bare, elsewhere := good(4), good(5), good(6), good(7)
	rows.Header.Set("Tap-Rows", "0")
	lying.Header.Set("Tap-Rows", "3")
	bare.Header = nil
	elsewhere.Subject = "tap.step.0000000000000000.9"
	hostile := good(8)
	hostile.Header.Set("Tap-Schema", "\x00\xff\xfe"+strings.Repeat("x", 5000))
	for i := range 100 {
		hostile.Header.Set("X-"+strconv.Itoa(i), strings.Repeat("\xff", 300))
	}
	letter := ops(tb, identity(9), "x")
	loop := &nats.Msg{Subject: "tap.dead_letter.0000000000000000.0", Header: letter.NATSHeader(), Data: []byte("junk")}
	return []malformedCase{
		{"flipped bit", "checksum", flipped},
		{"unknown schema", "unknown schema weather/1", unknown},
		{"unknown version", "unknown schema step/9", version},
		{"wrong checksum", "checksum", checksum},
		{"zero rows", "0 rows", rows},
		{"wrong rows", "2 rows, header says 3", lying},
		{"no headers", "header", bare},
		{"other subject", "subject does not fit", elsewhere},
		{"hostile headers", "Tap-Schema", hostile},
		{"letter about a letter", "", loop},
	}
}

// sequenceOf is the message's place in the dead-letter stream.
func sequenceOf(tb testing.TB, row schemas.DeadLetterRow) uint64 {
	tb.Helper()
	number, _ := strings.CutPrefix(row.Location, pipelines.DeadStreamName+"/")
	sequence, err := strconv.ParseUint(number, 10, 64)
	must(tb, err)
	return sequence
}
