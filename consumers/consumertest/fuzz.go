package consumertest

import (
	"errors"
	"hash/crc32"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/klauspost/compress/s2"

	"github.com/tensortap/tensortap/schemas"
)

// mostFuzzed is what a process may have of the system for its heap, whatever message it is given.
const mostFuzzed = 1 << 30

// Fuzz gives store one message after the other, made of whatever bytes under a sound checksum and the headers that fit them
// best. Store is nil or a *schemas.RejectedError for each: any other error would be one message tried again for ever. Seeds
// are a message of every kind, and those spoilt by hand that are small: each worker makes them as it starts.
func Fuzz(f *testing.F, store func(t *testing.T, m schemas.Message) error) {
	f.Helper()
	tables := schemas.Tables()
	for i, table := range tables {
		add := func(m schemas.Message) {
			rows := int32(m.Header.Rows) //nolint:gosec // 20 million at most
			if long, err := s2.DecodedLen(m.Data); err == nil && long < schemas.MaxMessageBytes {
				if stream, err := s2.Decode(nil, m.Data); err == nil {
					f.Add(uint8(i), rows, false, stream) //nolint:gosec // fewer tables
					return
				}
			}
			f.Add(uint8(i), rows, true, m.Data) //nolint:gosec // fewer tables
		}
		add(Batches(f, table.Kind(), Producer(1), 1, 3)[0].Message)
		if table.Kind() == "log" { // which has all types of columns
			for _, m := range Malformed(f, Batches(f, table.Kind(), Producer(1), 1, 3)[0].Message) {
				add(m)
			}
			first := Producer(1)
			for _, m := range spoiledOf(f, table.Kind(), &first) {
				add(m)
			}
		}
	}
	f.Fuzz(func(t *testing.T, table uint8, rows int32, packed bool, data []byte) {
		if !packed {
			data = s2.Encode(nil, data)
		}
		m := fitted(tables[int(table)%len(tables)], int(rows), data)
		_, err := schemas.ParseMessage(m.Subject(), m.NATSHeader(), m.Data, 1)
		if err == nil {
			err = store(t, m)
		}
		var malformed *schemas.MalformedError
		var rejected *schemas.RejectedError
		if err != nil && !errors.As(err, &malformed) && !errors.As(err, &rejected) {
			t.Errorf("a message of %s is neither stored nor refused: %v", m.Header.Kind, err)
		}
		if took := heapOfSystem(); took > mostFuzzed {
			t.Errorf("after a message of %s the process has %d bytes for its heap, want at most %d", m.Header.Kind, took, mostFuzzed)
		}
	})
}

// fitted is a message of the data whose headers agree with them as far as they can be read.
func fitted(table schemas.Table, rows int, data []byte) schemas.Message {
	m := schemas.Message{Data: data, Header: schemas.Header{
		Kind: table.Kind(), Version: table.Version, Identity: Producer(1), Rows: rows, Encoding: schemas.EncodingArrowS2,
		CRC: crc32.Checksum(data, crc32.MakeTable(crc32.Castagnoli)),
	}}
	record, err := m.Record()
	at := table.Column("event_time_ns")
	if err != nil || at < 0 {
		return m
	}
	times, is := record.Column(at).(*array.Int64)
	if !is || times.Len() == 0 {
		return m
	}
	m.Header.MinEventTimeNs, m.Header.MaxEventTimeNs = times.Value(0), times.Value(0)
	for _, ns := range times.Int64Values() {
		m.Header.MinEventTimeNs, m.Header.MaxEventTimeNs = min(m.Header.MinEventTimeNs, ns), max(m.Header.MaxEventTimeNs, ns)
	}
	return m
}
