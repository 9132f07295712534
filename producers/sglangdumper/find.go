package sglangdumper

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/tensortap/tensortap/producers"
)

// Find looks for dumps at path: a folder of the dumper, or a folder with a single such folder.
func Find(path string) (Found, error) {
	var found Found
	dir, err := filepath.Abs(path)
	if err == nil {
		dir, err = holder(dir)
	}
	if err == nil {
		err = found.read(dir)
	}
	if err == nil && len(found.Dumps) == 0 {
		err = found.nothing()
	}
	if err != nil {
		return found, fmt.Errorf("find dumps at %s: %w", path, err)
	}
	return found, nil
}

// nothing says what Find looked for, and the first file that is named almost so.
func (f *Found) nothing() error {
	almost := ""
	if f.Problems.Count > 0 {
		almost = "; " + f.Problems.First[0]
	}
	return fmt.Errorf("%w: no file step=N___rank=N___dump_index=N___name=NAME%s in it%s", ErrNoDump, extension, almost)
}

// holder is the folder of the files: the path's own or, where it has none, the only one below.
func holder(dir string) (string, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, syscall.ENOTDIR) {
		return dir, fmt.Errorf("%w: a file, where its folder is wanted", ErrNoDump)
	}
	if err != nil || slices.ContainsFunc(entries, isSaved) {
		return dir, err
	}
	var below []string
	for _, entry := range entries {
		child := filepath.Join(dir, entry.Name())
		if inside, err := os.ReadDir(child); err == nil && slices.ContainsFunc(inside, isSaved) {
			below = append(below, child)
		}
	}
	if len(below) > 1 {
		return "", fmt.Errorf("%d dumps are below, choose one: %s", len(below), strings.Join(below[:min(len(below), 5)], ", "))
	}
	return append(below, dir)[0], nil
}

func isSaved(entry os.DirEntry) bool {
	_, err := parseName(entry.Name())
	return err == nil && filepath.Ext(entry.Name()) == extension
}

// read lists the files of a folder by step and rank.
func (f *Found) read(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	type place struct{ step, rank uint32 }
	places := map[place]*Dump{}
	for _, entry := range entries {
		file, ok := f.file(dir, entry)
		if !ok {
			continue
		}
		at := place{file.step, file.rank}
		if places[at] == nil {
			places[at] = &Dump{Step: file.step, Rank: file.rank, Dir: dir}
		}
		dump := places[at]
		dump.files = append(dump.files, file)
		dump.ModTimeNs = max(dump.ModTimeNs, f.timeOf(dir, file))
	}
	for _, dump := range places {
		slices.SortFunc(dump.files, func(a, b file) int {
			return cmp.Or(cmp.Compare(a.index, b.index), cmp.Compare(a.Name, b.Name))
		})
		f.Dumps = append(f.Dumps, *dump)
	}
	slices.SortFunc(f.Dumps, func(a, b Dump) int {
		return cmp.Or(cmp.Compare(a.Step, b.Step), cmp.Compare(a.Rank, b.Rank))
	})
	return nil
}

func (f *Found) timeOf(dir string, file file) int64 {
	ns, err := producers.FileTimeNs(file.ModTime)
	if err != nil {
		f.Problems.Add(fmt.Sprintf("%s: %v", filepath.Join(dir, file.Name), err))
	}
	return ns
}

// file reads an entry's name as that of a saved value. Entries that only end like one are reported.
func (f *Found) file(dir string, entry os.DirEntry) (file, bool) {
	if filepath.Ext(entry.Name()) != extension {
		return file{}, false
	}
	parsed, err := parseName(entry.Name())
	if err != nil {
		f.Problems.Add(fmt.Sprintf("%s: %v", filepath.Join(dir, entry.Name()), err))
		return file{}, false
	}
	info, err := os.Stat(filepath.Join(dir, entry.Name()))
	if err != nil || !info.Mode().IsRegular() {
		f.Problems.Add(filepath.Join(dir, entry.Name()) + ": it is no file that can be read")
		return file{}, false
	}
	parsed.Size, parsed.ModTime = info.Size(), info.ModTime()
	return parsed, true
}
