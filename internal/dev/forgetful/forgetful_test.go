package forgetful

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

func TestMain(m *testing.M) {
	if Serve() {
		return
	}
	os.Exit(m.Run())
}

// texts are the files of a tree, as "path=content".
func texts(t *testing.T, dir string) string {
	t.Helper()
	var all []string
	must(t, filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		all = append(all, fmt.Sprintf("%s=%s", path[len(dir)+1:], text))
		return err
	}))
	slices.Sort(all)
	return strings.Join(all, " ")
}

// after returns what can be left of a disk after each mark, in each way.
func after(t *testing.T, r *Recording) map[string]map[Loss]string {
	t.Helper()
	found := map[string]map[Loss]string{}
	r.Recover(t, 1, func(dir string, m *Moment) {
		if n := len(m.Marks); n > 0 && r.operations[m.number-1].Kind == mark {
			if found[m.Marks[n-1]] == nil {
				found[m.Marks[n-1]] = map[Loss]string{}
			}
			found[m.Marks[n-1]][m.Loss] = texts(t, dir)
		}
	})
	return found
}

func flush(t *testing.T, path string) {
	t.Helper()
	file, err := os.Open(path)
	must(t, err)
	must(t, file.Sync())
	must(t, file.Close())
}

func TestWhatIsNotSyncedIsForgotten(t *testing.T) {
	t.Parallel()
	d := Mount(t)
	path := filepath.Join(d.Dir, "folder", "file")
	must(t, os.Mkdir(filepath.Dir(path), 0o700))
	must(t, os.WriteFile(path, []byte("one"), 0o600))
	d.Mark("written")
	flush(t, path)
	d.Mark("synced")
	flush(t, filepath.Dir(path))
	d.Mark("named")
	flush(t, d.Dir)
	d.Mark("folder named")
	must(t, os.WriteFile(path, []byte("another"), 0o600))
	must(t, os.Rename(path, path+".new"))
	d.Mark("renamed")
	flush(t, path+".new")
	flush(t, filepath.Dir(path))
	must(t, os.Remove(path+".new"))
	d.Mark("removed")
	flush(t, filepath.Dir(path))
	d.Mark("gone")
	if got := texts(t, d.Dir); got != "" {
		t.Errorf("the disk holds %q, want nothing", got)
	}
	want := map[string][2]string{ // what a kill leaves, and what a loss of power
		"written": {"folder/file=one", ""}, "synced": {"folder/file=one", ""}, "named": {"folder/file=one", ""},
		"folder named": {"folder/file=one", "folder/file=one"}, "renamed": {"folder/file.new=another", "folder/file=one"},
		"removed": {"", "folder/file.new=another"}, "gone": {"", ""},
	}
	got := after(t, d.Recording())
	for name, w := range want {
		if got[name][Nothing] != w[0] || got[name][Everything] != w[1] {
			t.Errorf("%s: %q after a kill, %q after a loss of power, want %q, %q", name, got[name][Nothing], got[name][Everything], w[0], w[1])
		}
	}
}

func TestASyncedFileHasItsNameWhereThatIsAsked(t *testing.T) {
	t.Parallel()
	d := Mount(t)
	path := filepath.Join(d.Dir, "a", "b", "file")
	must(t, os.MkdirAll(filepath.Dir(path), 0o700))
	must(t, os.WriteFile(path, []byte("one"), 0o600))
	must(t, os.Rename(path, path+".new"))
	flush(t, path+".new")
	d.Mark("synced")
	r := d.Recording()
	if got := after(t, r)["synced"][Everything]; got != "" {
		t.Errorf("by POSIX %q is left, want nothing", got)
	}
	r.Named = true
	if got := after(t, r)["synced"][Everything]; got != "a/b/file.new=one" {
		t.Errorf("%q is left, want a file that was synced", got)
	}
}

func TestMappedMemoryComesToTheDiskWhenItIsSynced(t *testing.T) {
	t.Parallel()
	d := Mount(t)
	file, err := os.Create(filepath.Join(d.Dir, "mapped"))
	must(t, err)
	must(t, file.Truncate(pageBytes))
	must(t, file.Sync())
	flush(t, d.Dir)
	memory, err := syscall.Mmap(int(file.Fd()), 0, pageBytes, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	must(t, err)
	copy(memory, "text")
	read := make([]byte, 4)
	if _, err := file.ReadAt(read, 0); err != nil || string(read) != "text" {
		t.Errorf("the file holds %q, %v", read, err)
	}
	must(t, file.Sync())
	d.Mark("synced")
	must(t, syscall.Munmap(memory))
	must(t, file.Close())
	got := after(t, d.Recording())["synced"][Everything]
	if text, _, _ := strings.Cut(got, "\x00"); text != "mapped=text" {
		t.Errorf("after a loss of power: %.40q", got)
	}
}

func TestSomeOfItIsLostInPagesAndSectors(t *testing.T) {
	t.Parallel()
	d := newDisk()
	d.apply(operation{Kind: create, Node: 2, Folder: rootNode, Name: "file"})
	d.apply(operation{Kind: synced, Node: rootNode})
	text := strings.Repeat("x", 2*pageBytes)
	d.apply(operation{Kind: write, Node: 2, Data: []byte(text)})
	seen, none := map[string]bool{}, false
	for i := range 200 {
		dir := filepath.Join(t.TempDir(), fmt.Sprint(i))
		must(t, d.layOut(dir, Some, random(i, 0)))
		got := strings.TrimPrefix(texts(t, dir), "file=")
		for sector := range slices.Chunk([]byte(got), sectorBytes) {
			if n := strings.Count(string(sector), "x"); n != 0 && n != len(sector) {
				t.Fatalf("a sector is torn: %q", sector)
			}
		}
		seen[got], none = true, none || !strings.Contains(got, "x")
	}
	if len(seen) < 30 || !none || !seen[text] {
		t.Errorf("%d different files, want many, one without all that was written, and a whole one", len(seen))
	}
}

func TestADiskThatRefusesTakesNothingMore(t *testing.T) {
	t.Parallel()
	d := Mount(t)
	d.RefuseAfter(2)
	path := filepath.Join(d.Dir, "file")
	if err := os.WriteFile(path, []byte("text"), 0o600); err != nil { // it is made and written
		t.Fatal(err)
	}
	if err := os.Remove(path); err == nil {
		t.Error("the disk took a third operation")
	}
	d.Heal()
	must(t, os.Remove(path))
}
