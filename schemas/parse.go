package schemas

import (
	"errors"
	"fmt"
	"hash/crc32"
	"strconv"
	"strings"
)

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
	case m.Header.Rows > MaxMessageRows:
		return fmt.Errorf("%d rows, limit %d", m.Header.Rows, MaxMessageRows)
	case len(m.Data) > MaxMessageBytes:
		return fmt.Errorf("%d bytes, limit %d", len(m.Data), MaxMessageBytes)
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

// BatchOfID is the batch that a message's id names.
func BatchOfID(id string) (Batches, error) {
	identity, kind, err := parseID(id)
	return BatchOf(kind, identity), err
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
