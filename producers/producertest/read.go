package producertest

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/tensortap/tensortap/producers"
	"github.com/tensortap/tensortap/schemas"
)

// read finds and reads all dumps at the path.
func (t trial) read(path string) (all []schemas.Message, problems producers.Problems, err error) {
	found, err := t.tool.Find(path)
	if err != nil {
		return nil, problems, err
	}
	problems = found.Problems
	for _, dump := range found.Dumps {
		messages, of, err := t.readDump(dump)
		all = append(all, messages...)
		if err != nil {
			return all, problems, err
		}
		problems.First, problems.Count = append(problems.First, of.First...), problems.Count+of.Count
	}
	return all, problems, nil
}

func (t trial) readDump(dump producers.Dump) ([]schemas.Message, producers.Problems, error) {
	source, err := dump.Open("r", nil)
	if err != nil {
		return nil, producers.Problems{}, err
	}
	all, err := t.messages(source)
	return all, source.Problems(), err
}

func (t trial) messages(source producers.Source) (all []schemas.Message, err error) {
	for m, err := range source.Content.Batches(t.Context()) {
		if err != nil {
			return all, err
		}
		if h := m.Header; schemas.Day(h.MinEventTimeNs) != schemas.Day(h.MaxEventTimeNs) {
			t.Errorf("batch %s of %s is of more than one day", h.Identity, h.Kind)
		}
		all = append(all, m)
	}
	return all, nil
}

func (t trial) mustRead(path string) []schemas.Message {
	t.Helper()
	all, problems, err := t.read(path)
	if err != nil || problems.Count > 0 {
		t.Fatalf("read %s: %v, problems %q", path, err, problems.First)
	}
	return all
}

func (t trial) mustFind(path string) producers.Found {
	t.Helper()
	found, err := t.tool.Find(path)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func (t trial) wantEqual(got, want []schemas.Message) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d messages, want %d", len(got), len(want))
	}
	for i := range got {
		if !areSame(got[i], want[i]) {
			t.Errorf("message %d is %s, want %s and the same bytes", i, got[i].ID(), want[i].ID())
		}
	}
}

func areSame(one, other schemas.Message) bool {
	return one.ID() == other.ID() && bytes.Equal(one.Data, other.Data)
}

// copied is a copy of the good files, of the same names and times.
func (t trial) copied() string {
	t.Helper()
	to := filepath.Join(t.TempDir(), filepath.Base(t.path))
	err := filepath.WalkDir(t.path, func(at string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(t.path, at)
		if err != nil {
			return err
		}
		if entry.IsDir() {
			return os.MkdirAll(filepath.Join(to, name), 0o700)
		}
		return t.copyFile(at, filepath.Join(to, name))
	})
	if err != nil {
		t.Fatal(err)
	}
	return to
}

func (t trial) copyFile(from, to string) error {
	content, err := os.ReadFile(from) //nolint:gosec // of this test
	if err != nil {
		return err
	}
	t.write(to, content)
	info, err := os.Stat(from)
	if err != nil {
		return err
	}
	return os.Chtimes(to, info.ModTime(), info.ModTime())
}

func (t trial) write(path string, content []byte) {
	t.Helper()
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
}

// files are the first files at a path.
func (t trial) files(path string) (files []string) {
	t.Helper()
	err := filepath.WalkDir(path, func(at string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() && len(files) < mostFiles {
			files = append(files, at)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}
