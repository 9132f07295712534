package tensorfiles

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tensortap/tensortap/producers"
	"github.com/tensortap/tensortap/producers/internal/saved"
)

const mostFiles = 1 << 20

// found is all files at a path.
type found struct {
	dir      string
	files    []file
	problems producers.Problems
}

// file is one of them.
type file struct {
	saved.File

	place     place
	modTimeNs int64
}

func extensions() []string { return []string{".pt", ".pth", ".safetensors", ".npy", ofDebugger} }

// ofDebugger is how files of tensors of SageMaker's debugger end. Others that end so have numbers and histograms.
const ofDebugger = ".tfevents"

// look lists the files at a path, which is one of them or a folder.
func look(path string) (*found, error) {
	f := &found{}
	absolute, err := filepath.Abs(path)
	if err == nil {
		err = f.walk(absolute)
	}
	if err == nil && len(f.files) == 0 {
		err = fmt.Errorf("%w: no file %s", ErrNoDump, strings.Join(extensions(), ", "))
	}
	if err != nil {
		return nil, fmt.Errorf("find saved tensors at %s: %w", path, err)
	}
	return f, nil
}

func (f *found) walk(root string) error {
	f.dir = root
	return filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			if path == root {
				return err
			}
			f.problems.Add(err.Error())
			return nil
		}
		if path == root && !entry.IsDir() {
			f.dir = filepath.Dir(root)
		}
		extension := strings.ToLower(filepath.Ext(path))
		if entry.IsDir() || !slices.Contains(extensions(), extension) || extension == ofDebugger && !debuggerFile.MatchString(path) {
			return nil
		}
		if len(f.files) == mostFiles {
			return fmt.Errorf("more than %d files: publish its folders one by one", mostFiles)
		}
		return f.add(path, entry)
	})
}

// add notes a file. Links and pipes are none that can be read.
func (f *found) add(path string, entry fs.DirEntry) error {
	name, err := filepath.Rel(f.dir, path)
	if err != nil {
		return err
	}
	info, err := entry.Info()
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("it is no file that can be read")
	}
	if err != nil {
		f.problems.Add(fmt.Sprintf("%s: %v", path, err))
		return nil
	}
	ns, err := producers.FileTimeNs(info.ModTime())
	if err != nil {
		f.problems.Add(fmt.Sprintf("%s: %v", path, err))
	}
	f.files = append(f.files, file{File: saved.File{Name: name, Size: info.Size(), ModTime: info.ModTime()}, place: placeOfFile(name), modTimeNs: ns})
	return nil
}

// placeOfFile reads a path below the folder of all files.
func placeOfFile(name string) place {
	if parts := debuggerFile.FindStringSubmatch(name); parts != nil {
		return placeInTrial(parts)
	}
	return placeOf(strings.ToValidUTF8(filepath.ToSlash(strings.TrimSuffix(name, filepath.Ext(name))), "?"))
}

// dumps groups the files by step and rank, those of one by their names, as people count.
func (f *found) dumps() []saved.Dump {
	slices.SortStableFunc(f.files, func(a, b file) int {
		return cmp.Or(cmp.Compare(a.place.step, b.place.step), cmp.Compare(a.place.rank, b.place.rank), natural(a.Name, b.Name), cmp.Compare(a.Name, b.Name))
	})
	var all []saved.Dump
	for left := f.files; len(left) > 0; {
		first, end := left[0].place, 1
		for end < len(left) && left[end].place.step == first.step && left[end].place.rank == first.rank {
			end++
		}
		all = append(all, dumpOf(f.dir, left[:end]))
		left = left[end:]
	}
	return all
}

// natural compares names with their numbers as numbers.
func natural(a, b string) int {
	for a != "" && b != "" {
		x, y := digits(a), digits(b)
		if x == 0 || y == 0 {
			if a[0] != b[0] {
				return cmp.Compare(a[0], b[0])
			}
			a, b = a[1:], b[1:]
			continue
		}
		left, right := strings.TrimLeft(a[:x], "0"), strings.TrimLeft(b[:y], "0")
		if c := cmp.Or(cmp.Compare(len(left), len(right)), cmp.Compare(left, right)); c != 0 {
			return c
		}
		a, b = a[x:], b[y:]
	}
	return cmp.Compare(len(a), len(b))
}

// digits is how many stand at the beginning.
func digits(text string) int {
	return len(text) - len(strings.TrimLeft(text, "0123456789"))
}
