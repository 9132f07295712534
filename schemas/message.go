package schemas

import (
	"fmt"
	"strconv"
	"strings"
)

// EncodingArrowS2 is one Arrow IPC stream of one batch, compressed as a whole with S2.
const EncodingArrowS2 = "arrow-s2"

// Limits of a message.
const (
	MaxMessageBytes = 8 << 20   // of the data as published
	MaxStreamBytes  = 64 << 20  // of the data once decompressed, and of its rows with all columns of the table
	MaxMessageRows  = 1_048_449 // the most that ClickHouse takes as one block, so as one part
	MaxTextBytes    = 4 << 20   // of one text
	MaxListValues   = 1 << 20   // of one list, or pairs of one map
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

// Header describes a message, outside of its data.
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

// RunOfSubject is the run under whose id something was published, and whether the subject names one.
func RunOfSubject(subject string) (runID uint64, names bool) {
	words := strings.Split(subject, ".")
	if len(words) != 4 || words[0] != subjectPrefix {
		return 0, false
	}
	runID, err := ParseID(words[2])
	return runID, err == nil
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
