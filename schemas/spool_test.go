package schemas

import (
	"encoding/binary"
	"testing"
)

func TestRecordsOfTheSpoolFitAndAreAligned(t *testing.T) {
	t.Parallel()
	kinds := map[uint32]string{}
	for _, r := range SpoolRecords() {
		if other, taken := kinds[r.Kind]; taken || r.Kind == 0 {
			t.Errorf("record %s: kind %d is zero or taken by %q", r.Name, r.Kind, other)
		}
		kinds[r.Kind] = r.Name
		if end := r.Offset(len(r.Fields)); end > SpoolCommitOffset {
			t.Errorf("record %s has %d bytes, more than the %d before the commit word", r.Name, end, SpoolCommitOffset)
		}
		for i, f := range r.Fields {
			if width := min(f.Type.Bytes(), 8); r.Offset(i)%width != 0 {
				t.Errorf("record %s: %s lies at %d, not at a multiple of %d", r.Name, f.Name, r.Offset(i), width)
			}
		}
	}
}

func TestHeaderOfTheSpoolFitsBeforeTheAgentsPart(t *testing.T) {
	t.Parallel()
	header := SpoolRecord{Fields: SpoolHeader()}
	if end := len(SpoolMagic) + header.Offset(len(header.Fields)); end > SpoolAgentOffset {
		t.Errorf("the header has %d bytes, more than %d", end, SpoolAgentOffset)
	}
	for i, f := range header.Fields {
		if at := len(SpoolMagic) + header.Offset(i); at%f.Type.Bytes() != 0 {
			t.Errorf("%s lies at %d, not at a multiple of its width", f.Name, at)
		}
	}
}

func TestACommitWordShowsEveryFlippedBit(t *testing.T) {
	t.Parallel()
	place := SpoolPlace(7, 1)
	for _, r := range SpoolRecords() {
		record := make([]byte, SpoolRecordBytes)
		for i := range record[:SpoolCommitOffset] {
			record[i] = byte(i * int(r.Kind))
		}
		word := func() uint32 { return binary.LittleEndian.Uint32(record[SpoolCommitOffset:]) }
		binary.LittleEndian.PutUint32(record[SpoolCommitOffset:], SpoolCommit(r.Kind, place, record))
		if kind := word() & SpoolKindMask; kind != r.Kind || word() != SpoolCommit(kind, place, record) {
			t.Errorf("%s: commit word %08x", r.Name, word())
		}
		for bit := range 8 * SpoolRecordBytes {
			record[bit/8] ^= 1 << (bit % 8)
			if word() == 0 || word() == SpoolCommit(word()&SpoolKindMask, place, record) {
				t.Errorf("%s: bit %d is flipped and nothing shows it", r.Name, bit)
			}
			record[bit/8] ^= 1 << (bit % 8)
		}
	}
}
