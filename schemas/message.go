package schemas

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/klauspost/compress/s2"
)

// EncodingArrowS2 is one Arrow IPC stream of one batch, compressed as a whole with S2.
const EncodingArrowS2 = "arrow-s2"

// Limits of a message.
const (
	MaxMessageBytes = 8 << 20  // of the data as published
	MaxStreamBytes  = 64 << 20 // of the data once decompressed
)

// Names of the headers.
const (
	headerID       = "Nats-Msg-Id"
	headerSchema   = "Tap-Schema"
	headerRows     = "Tap-Rows"
	headerEncoding = "Tap-Encoding"
	headerCRC      = "Tap-Crc32c"
	headerTimes    = "Tap-Event-Time-Ns"
)

const subjectPrefix = "tap"

// Header is what a message says of itself outside of its data.
type Header struct {
	Kind           string
	Version        int
	Identity       Identity
	Rows           int
	Encoding       string
	CRC            uint32 // CRC-32C of the data
	MinEventTimeNs int64  // both 0 for definitions
	MaxEventTimeNs int64
}

// Message is one batch of rows of one table on its way.
type Message struct {
	Header   Header
	Data     []byte
	Sequence uint64 // place in the stream, 0 before it has one
}

// Subject is where the message is published: tap.<kind>.<run>.<rank>.
func (m Message) Subject() string {
	return Subject(m.Header.Kind, m.Header.Identity.RunID, m.Header.Identity.Rank)
}

// Subject is where the messages of that kind, run and rank are published.
func Subject(kind string, runID uint64, rank uint32) string {
	return subjectPrefix + "." + kind + "." + FormatID(runID) + "." + strconv.FormatUint(uint64(rank), 10)
}

// ID names the message for ever; the stream drops a second one of the same id.
func (m Message) ID() string {
	id := m.Header.Identity
	return fmt.Sprintf("%016x/%d/%016x/%s/%d", id.RunID, id.Rank, id.Epoch, m.Header.Kind, id.Batch)
}

// NATSHeader is the header as NATS carries it.
func (m Message) NATSHeader() map[string][]string {
	h := m.Header
	return map[string][]string{
		headerID:       {m.ID()},
		headerSchema:   {h.Kind + "/" + strconv.Itoa(h.Version)},
		headerRows:     {strconv.Itoa(h.Rows)},
		headerEncoding: {h.Encoding},
		headerCRC:      {fmt.Sprintf("%08x", h.CRC)},
		headerTimes:    {fmt.Sprintf("%d %d", h.MinEventTimeNs, h.MaxEventTimeNs)},
	}
}

// ParseMessage reads a message as it came from the stream and checks all that
// can be checked without decoding its data. Its error is a *MalformedError.
func ParseMessage(subject string, header map[string][]string, data []byte, sequence uint64) (Message, error) {
	h, err := parseHeader(header)
	if err != nil {
		return Message{}, &MalformedError{Subject: subject, Reason: err.Error()}
	}
	m := Message{Header: h, Data: data, Sequence: sequence}
	if err := m.check(subject); err != nil {
		return Message{}, &MalformedError{Subject: subject, Reason: err.Error()}
	}
	return m, nil
}

func (m Message) check(subject string) error {
	table, known := TableByKind(m.Header.Kind)
	switch {
	case !known:
		return fmt.Errorf("unknown schema %s/%d", m.Header.Kind, m.Header.Version)
	case table.Version != m.Header.Version:
		return fmt.Errorf("unknown schema %s/%d: this program knows version %d", m.Header.Kind, m.Header.Version, table.Version)
	case m.Header.Encoding != EncodingArrowS2:
		return fmt.Errorf("unknown encoding %q, want %s", m.Header.Encoding, EncodingArrowS2)
	case m.Header.Rows <= 0:
		return fmt.Errorf("%d rows, want at least 1", m.Header.Rows)
	case subject != m.Subject():
		return fmt.Errorf("subject does not fit its id %s", m.ID())
	case checksum(m.Data) != m.Header.CRC:
		return fmt.Errorf("checksum of %d bytes is %08x, header says %08x", len(m.Data), checksum(m.Data), m.Header.CRC)
	}
	return nil
}

func parseHeader(header map[string][]string) (Header, error) {
	get := func(name string) string { return strings.Join(header[name], ",") }
	h := Header{Encoding: get(headerEncoding)}
	var err error
	if h.Kind, h.Version, err = parseSchema(get(headerSchema)); err != nil {
		return Header{}, err
	}
	var kind string
	if h.Identity, kind, err = parseID(get(headerID)); err != nil {
		return Header{}, err
	}
	if kind != h.Kind {
		return Header{}, fmt.Errorf("header %s says %s, %s says %s", headerID, kind, headerSchema, h.Kind)
	}
	if h.Rows, err = strconv.Atoi(get(headerRows)); err != nil {
		return Header{}, fmt.Errorf("header %s is %q, want a number", headerRows, get(headerRows))
	}
	crc, err := strconv.ParseUint(get(headerCRC), 16, 32)
	if err != nil {
		return Header{}, fmt.Errorf("header %s is %q, want 8 hex digits", headerCRC, get(headerCRC))
	}
	h.CRC = uint32(crc)
	if _, err := fmt.Sscanf(get(headerTimes), "%d %d", &h.MinEventTimeNs, &h.MaxEventTimeNs); err != nil {
		return Header{}, fmt.Errorf("header %s is %q, want two times", headerTimes, get(headerTimes))
	}
	return h, nil
}

func parseSchema(value string) (kind string, version int, err error) {
	kind, number, _ := strings.Cut(value, "/")
	version, err = strconv.Atoi(number)
	if err != nil || kind == "" {
		return "", 0, fmt.Errorf("header %s is %q, want name/version", headerSchema, value)
	}
	return kind, version, nil
}

func parseID(value string) (Identity, string, error) {
	parts := strings.Split(value, "/")
	if len(parts) != 5 {
		return Identity{}, "", fmt.Errorf("header %s is %q, want run/rank/epoch/kind/batch", headerID, value)
	}
	run, errRun := ParseID(parts[0])
	rank, errRank := strconv.ParseUint(parts[1], 10, 32)
	epoch, errEpoch := ParseID(parts[2])
	batch, errBatch := strconv.ParseUint(parts[4], 10, 64)
	if err := errors.Join(errRun, errRank, errEpoch, errBatch); err != nil {
		return Identity{}, "", fmt.Errorf("header %s is %q, want run/rank/epoch/kind/batch", headerID, value)
	}
	return Identity{RunID: run, Rank: uint32(rank), Epoch: epoch, Batch: batch}, parts[3], nil
}

func checksum(data []byte) uint32 {
	return crc32.Checksum(data, crc32.MakeTable(crc32.Castagnoli))
}

// decompress is the Arrow stream as the producer wrote it.
func (m Message) decompress(scratch []byte) ([]byte, error) {
	n, err := s2.DecodedLen(m.Data)
	if err != nil {
		return nil, fmt.Errorf("decompress %d bytes: %w", len(m.Data), err)
	}
	if n > MaxStreamBytes {
		return nil, fmt.Errorf("decompress %d bytes: %d bytes of rows, limit %d", len(m.Data), n, MaxStreamBytes)
	}
	stream, err := s2.Decode(scratch[:cap(scratch)], m.Data)
	if err != nil {
		return nil, fmt.Errorf("decompress %d bytes: %w", len(m.Data), err)
	}
	return stream, nil
}

// Record decodes the rows into an Arrow record with all columns of the table,
// in its order: a column that the message lacks is zero, or null; one that the
// table lacks is left out. It checks that the rows are as many, and of the
// identity, that the header says. Its error is a *MalformedError.
func (m Message) Record() (arrow.RecordBatch, error) {
	stream, err := m.decompress(nil)
	if err == nil {
		var record arrow.RecordBatch
		if record, err = m.decode(stream); err == nil {
			return record, nil
		}
	}
	return nil, &MalformedError{Subject: m.Subject(), Reason: err.Error()}
}

func (m Message) decode(stream []byte) (arrow.RecordBatch, error) {
	record, err := firstBatch(stream)
	if err != nil {
		return nil, err
	}
	table, _ := TableByKind(m.Header.Kind)
	if record, err = table.normalise(record); err != nil {
		return nil, err
	}
	return record, m.checkRows(record)
}

func (m Message) checkRows(record arrow.RecordBatch) error {
	if int(record.NumRows()) != m.Header.Rows {
		return fmt.Errorf("%d rows, header says %d", record.NumRows(), m.Header.Rows)
	}
	table, _ := TableByKind(m.Header.Kind)
	if table.Class == Definition {
		return nil
	}
	id := m.Header.Identity
	for i, want := range []uint64{id.RunID, uint64(id.Rank), id.Epoch, id.Batch} {
		if !holdsOnly(record.Column(i), want) {
			return fmt.Errorf("%s of some row is not the %d of its header", record.ColumnName(i), want)
		}
	}
	return nil
}

func holdsOnly(column arrow.Array, want uint64) bool {
	switch c := column.(type) {
	case *array.Uint64:
		for _, v := range c.Uint64Values() {
			if v != want {
				return false
			}
		}
	case *array.Uint32:
		for _, v := range c.Uint32Values() {
			if uint64(v) != want {
				return false
			}
		}
	}
	return true
}

// normalise is the record with the columns of the table.
func (t Table) normalise(record arrow.RecordBatch) (arrow.RecordBatch, error) {
	schema := t.ArrowSchema()
	if record.Schema().Equal(schema) {
		return record, nil
	}
	arrays := make([]arrow.Array, len(t.Columns))
	for i, c := range t.Columns {
		found := record.Schema().FieldIndices(c.Name)
		if len(found) == 0 {
			arrays[i] = c.missing(int(record.NumRows()))
			continue
		}
		arrays[i] = record.Column(found[0])
		if !arrow.TypeEqual(arrays[i].DataType(), schema.Field(i).Type) {
			return nil, fmt.Errorf("column %s is %s, want %s", c.Name, arrays[i].DataType(), schema.Field(i).Type)
		}
		if !c.Nullable && arrays[i].NullN() > 0 {
			return nil, fmt.Errorf("column %s holds %d nulls, which it may not", c.Name, arrays[i].NullN())
		}
	}
	return array.NewRecordBatch(schema, arrays, record.NumRows()), nil
}

// missing is the column for rows written before it was declared.
func (c Column) missing(rows int) arrow.Array {
	col := newColumn(c)
	for range rows {
		col.missing()
	}
	return col.array()
}

// WriteStream writes the rows of messages of one kind as one Arrow IPC stream:
// one schema, a batch per message. Batches of the current columns pass through
// undecoded; call Record first where a message was not checked before.
func WriteStream(w io.Writer, messages []Message) error {
	if len(messages) == 0 {
		return nil
	}
	table, _ := TableByKind(messages[0].Header.Kind)
	head, err := table.streamHead()
	if err != nil {
		return err
	}
	if _, err := w.Write(head); err != nil {
		return err
	}
	var scratch []byte
	for _, m := range messages {
		if scratch, err = m.canonicalStream(head, scratch); err != nil {
			return err
		}
		if _, err := w.Write(scratch[len(head) : len(scratch)-len(endOfStream)]); err != nil {
			return err
		}
	}
	_, err = w.Write([]byte(endOfStream))
	return err
}

// endOfStream closes an Arrow IPC stream.
const endOfStream = "\xff\xff\xff\xff\x00\x00\x00\x00"

// streamHead is the schema message that opens the streams of a table.
func (t Table) streamHead() ([]byte, error) {
	var b bytes.Buffer
	if err := ipc.NewWriter(&b, ipc.WithSchema(t.ArrowSchema())).Close(); err != nil {
		return nil, fmt.Errorf("encode schema of %s: %w", t.Name, err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte(endOfStream)), nil
}

// canonicalStream is the message's Arrow stream, rewritten if it does not open with head.
func (m Message) canonicalStream(head, scratch []byte) ([]byte, error) {
	stream, err := m.decompress(scratch)
	if err != nil {
		return nil, err
	}
	if bytes.HasPrefix(stream, head) && bytes.HasSuffix(stream, []byte(endOfStream)) && oneBatch(stream[len(head):]) {
		return stream, nil
	}
	record, err := m.decode(stream)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if err := writeStream(&b, record.Schema(), record); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// oneBatch says whether what follows the schema begins with an IPC message.
func oneBatch(rest []byte) bool {
	return len(rest) > 2*len(endOfStream) && binary.LittleEndian.Uint32(rest) == 0xffffffff
}
