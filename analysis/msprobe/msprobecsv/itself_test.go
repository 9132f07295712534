package msprobecsv_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/tensortap/tensortap/internal/dev/recorded"
	"github.com/tensortap/tensortap/internal/dev/testbed"
)

// TestMsprobeItselfAgrees runs the msProbe that TENSORTAP_MSPROBE names (`make msprobe` installs one), for when a new
// version comes out.
func TestMsprobeItselfAgrees(t *testing.T) {
	t.Parallel()
	msprobe := testbed.Msprobe(t)
	dir := t.TempDir()
	s := store{}
	p := pair{problem: "B04_eps_mix", bench: "B00_golden_mix", ranks: 1}
	for _, run := range []string{p.problem, p.bench} {
		if err := recorded.Extract(filepath.Join(recorded.Dumps(), run+".tar.gz"), dir); err != nil {
			t.Fatal(err)
		}
		s[run] = filepath.Join(dir, run, "dump")
	}
	want := itsOwn(t, msprobe, s, p)
	files, _ := s.write(t, p)
	for _, got := range files {
		r := hold(p.problem, got.Bytes(), want)
		t.Logf("%d of %d rows, bytes same: %t", r.matched, r.rows, r.sameBytes)
		if r.matched != r.rows || r.surplus > 0 || !r.sameHeader {
			t.Errorf("%s: %d of %d rows are msProbe's, %d too many, %q", p.problem, r.matched, r.rows, r.surplus, r.differences[:min(len(r.differences), 12)])
		}
	}
}

// itsOwn is the file that msProbe writes about a pair of one rank.
func itsOwn(t *testing.T, msprobe string, s store, p pair) []byte {
	t.Helper()
	found := testbed.MsprobeCompares(t, msprobe, filepath.Join(s[p.problem], "step0"), filepath.Join(s[p.bench], "step0"))
	if len(found) != 1 {
		t.Fatalf("msProbe wrote %q, want one file", found)
	}
	text, err := os.ReadFile(found[0])
	if err != nil {
		t.Fatal(err)
	}
	return text
}
