package schemas

import "testing"

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
