package parquet

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/tensortap/tensortap/schemas"
)

func TestFileWithoutALineIsAdopted(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	w, _ := open(t, dir)
	b, messages := batches(t, 3)
	must(t, w.Write(t.Context(), messages[:2]))
	before := w.manifest.size
	must(t, w.Write(t.Context(), messages[2:]))
	kill(t, w)
	must(t, os.Truncate(filepath.Join(dir, "manifest"), before)) // killed between rename and manifest
	w, r := open(t, dir)
	if r != (Recovery{Files: 2, Adopted: 1}) {
		t.Errorf("Open = %+v, want 2 files, 1 adopted", r)
	}
	must(t, w.Write(t.Context(), messages))
	wantRows(t, w, b)
	if damaged, err := w.Verify(t.Context()); len(damaged) != 0 || err != nil {
		t.Errorf("Verify() = %d, %v, want none damaged", damaged, err)
	}
}

func TestALostOrShortManifestLosesNoFile(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]func(*testing.T, string){
		"gone":  func(t *testing.T, path string) { t.Helper(); must(t, os.Remove(path)) },
		"empty": func(t *testing.T, path string) { t.Helper(); must(t, os.Truncate(path, 0)) },
		"short": func(t *testing.T, path string) { t.Helper(); must(t, os.Truncate(path, 700)) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			w, _ := open(t, dir)
			b, messages := batches(t, 30)
			for i := range messages {
				must(t, w.Write(t.Context(), messages[i:i+1]))
			}
			kill(t, w)
			damage(t, filepath.Join(dir, "manifest"))
			w, r := open(t, dir)
			if r.Files != 30 || r.Adopted < 25 || r.Anew != (name != "short") || r.Quarantined+r.Lost+r.DamagedLines+r.Aside > 0 {
				t.Errorf("Open = %+v, want 30 files, most of them adopted", r)
			}
			wantRows(t, w, b)
			kill(t, w)
			if _, r := open(t, dir); r != (Recovery{Files: 30}) {
				t.Errorf("second Open = %+v, want 30 files", r)
			}
		})
	}
}

func TestTheRestOfAFileThatSharesBatchesIsKept(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	w, _ := open(t, dir)
	b, messages := batches(t, 6)
	must(t, w.Write(t.Context(), messages))
	kill(t, w)
	whole := fileOf(t, dir, 0)
	text, err := os.ReadFile(whole)
	must(t, err)
	must(t, os.Remove(whole))
	w, _ = open(t, dir)
	must(t, w.Write(t.Context(), messages[3:])) // all that the stream still has
	kill(t, w)
	must(t, os.WriteFile(whole, text, 0o600)) // from a backup
	w, r := open(t, dir)
	if r.Aside != 1 || len(w.Missing()) > 0 {
		t.Errorf("Open = %+v, Missing() = %v, want the file aside and nothing missing", r, w.Missing())
	}
	wantRows(t, w, b)
}

func TestAFileWithoutALineThatIsNoneOfTheArchivesIsKeptAside(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	w, _ := open(t, dir)
	b, messages := batches(t, 2)
	for i := range messages {
		must(t, w.Write(t.Context(), messages[i:i+1]))
	}
	kill(t, w)
	first := fileOf(t, dir, 0)
	text, err := os.ReadFile(first)
	must(t, err)
	for name, content := range map[string][]byte{"copy.parquet": text, "cut.parquet": text[:len(text)/2], "notes.txt": nil} {
		must(t, os.WriteFile(filepath.Join(filepath.Dir(first), name), content, 0o600))
	}
	w, r := open(t, dir)
	if r != (Recovery{Files: 2, Aside: 2, Quarantined: 1}) {
		t.Errorf("Open = %+v, want 2 files, a copy and a note aside, a cut one in quarantine", r)
	}
	if kept, err := os.ReadDir(filepath.Join(dir, "quarantine")); len(kept) != 3 || err != nil {
		t.Errorf("quarantine has %v, %v, want the three", kept, err)
	}
	if missing := w.Missing(); len(missing) > 0 {
		t.Errorf("Missing() = %v, want none", missing)
	}
	wantRows(t, w, b)
}

func TestTornLastLineIsCutOff(t *testing.T) {
	t.Parallel()
	for _, left := range []int64{1, 7, 9, 60} {
		t.Run(fmt.Sprint(left, " bytes left"), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			w, _ := open(t, dir)
			b, messages := batches(t, 3)
			must(t, w.Write(t.Context(), messages[:2]))
			before := w.manifest.size
			must(t, w.Write(t.Context(), messages[2:]))
			kill(t, w)
			must(t, os.Truncate(filepath.Join(dir, "manifest"), before+left))
			w, r := open(t, dir)
			if r != (Recovery{Files: 2, Adopted: 1}) {
				t.Errorf("Open = %+v, want 2 files, 1 adopted", r)
			}
			must(t, w.Write(t.Context(), messages))
			kill(t, w)
			w, r = open(t, dir)
			if r != (Recovery{Files: 2}) {
				t.Errorf("second Open = %+v, want 2 files", r)
			}
			wantRows(t, w, b)
		})
	}
}

func TestDamageIsFoundReportedAndMended(t *testing.T) {
	t.Parallel()
	damages := map[string]struct {
		damage func(t *testing.T, file string)
		want   Recovery
	}{
		"a file is missing": {func(t *testing.T, f string) { t.Helper(); must(t, os.Remove(f)) }, Recovery{Files: 2, Lost: 1}},
		"a file is short":   {func(t *testing.T, f string) { t.Helper(); must(t, os.Truncate(f, 1000)) }, Recovery{Files: 2, Quarantined: 1}},
		"an end is zeros": {func(t *testing.T, f string) {
			t.Helper()
			overwrite(t, f, -6, "\x00\x00\x00\x00\x00\x00")
		}, Recovery{Files: 2, Quarantined: 1}},
	}
	for name, d := range damages {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			w, _ := open(t, dir)
			b, messages := batches(t, 6)
			for i := 0; i < 6; i += 2 {
				must(t, w.Write(t.Context(), messages[i:i+2]))
			}
			kill(t, w)
			d.damage(t, fileOf(t, dir, 1))
			for range 2 { // the report outlives another restart
				var r Recovery
				w, r = open(t, dir)
				if want := schemas.BatchOf("tensor", messages[2].Header.Identity); len(w.Missing()) != 1 || w.Missing()[0].First != want.First || w.Missing()[0].Last != 3 {
					t.Errorf("Missing() = %+v, want batches 2 to 3; Open was %+v", w.Missing(), r)
				}
				kill(t, w)
			}
			w, _ = open(t, dir)
			must(t, w.Write(t.Context(), messages))
			if missing := w.Missing(); len(missing) > 0 {
				t.Errorf("Missing() = %+v after writing again, want none", missing)
			}
			wantRows(t, w, b)
		})
	}
}

func TestVerifyFindsAFlippedBit(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	w, _ := open(t, dir)
	b, messages := batches(t, 4)
	must(t, w.Write(t.Context(), messages[:2]))
	must(t, w.Write(t.Context(), messages[2:]))
	overwrite(t, fileOf(t, dir, 0), 300, "\x55")
	if damaged, err := w.Verify(t.Context()); len(damaged) != 1 || err != nil {
		t.Errorf("Verify() = %d, %v, want 1 damaged file", damaged, err)
	}
	must(t, w.Write(t.Context(), messages))
	if damaged, err := w.Verify(t.Context()); len(damaged) != 0 || err != nil {
		t.Errorf("second Verify() = %d, %v, want none damaged", damaged, err)
	}
	wantRows(t, w, b)
}

func TestTheRoundsOfADayReadEveryFileOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	w, _ := open(t, dir)
	_, messages := batches(t, 4)
	must(t, w.Write(t.Context(), messages[:2]))
	must(t, w.Write(t.Context(), messages[2:]))
	overwrite(t, fileOf(t, dir, 0), 300, "\x55")
	found := 0
	for part := range uint64(24) {
		damaged, err := w.VerifyPart(t.Context(), part, 24)
		must(t, err)
		found += len(damaged)
	}
	if found != 1 {
		t.Errorf("%d damaged files were found, want 1", found)
	}
}

func TestDamagedManifestLineLosesNoFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	w, _ := open(t, dir)
	b, messages := batches(t, 4)
	must(t, w.Write(t.Context(), messages[:2]))
	must(t, w.Write(t.Context(), messages[2:]))
	kill(t, w)
	overwrite(t, filepath.Join(dir, "manifest"), 20, "#")
	w, r := open(t, dir)
	if r != (Recovery{Files: 2, Adopted: 1, DamagedLines: 1}) || len(w.Missing()) != 0 {
		t.Errorf("Open = %+v, Missing() = %+v, want two files, one of them adopted", r, w.Missing())
	}
	must(t, w.Write(t.Context(), messages))
	wantRows(t, w, b)
}

func fileOf(t *testing.T, dir string, i int) string {
	t.Helper()
	files := list(t, dir)
	slices.Sort(files)
	return files[i]
}

// overwrite replaces bytes of a file, counted from its end if at is negative.
func overwrite(t *testing.T, path string, at int64, text string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	must(t, err)
	if at < 0 {
		info, err := f.Stat()
		must(t, err)
		at += info.Size()
	}
	_, err = f.WriteAt([]byte(text), at)
	must(t, errors.Join(err, f.Close()))
}
