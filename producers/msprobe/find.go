package msprobe

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/tensortap/tensortap/producers"
)

// Find looks for dumps at path: a dump folder, or any folder with one up to two levels below; a step; a rank; or a
// dump.json. Ranks are numbered over all steps of the dump, whatever part of it path names.
func Find(path string) (Found, error) {
	found := Found{Path: path}
	full, err := filepath.Abs(path)
	if err != nil {
		return found, fmt.Errorf("find dumps at %s: %w", path, err)
	}
	info, err := os.Stat(full)
	if err != nil {
		return found, fmt.Errorf("find dumps at %s: %w", path, err)
	}
	if !info.IsDir() {
		if name := filepath.Base(full); name != dumpFile && name != debugFile {
			return found, fmt.Errorf("find dumps at %s: %w: a file, but neither %s nor %s", path, ErrNoDump, dumpFile, debugFile)
		}
		full = filepath.Dir(full)
	}
	if err := found.root(full); err != nil {
		return found, fmt.Errorf("find dumps at %s: %w", path, err)
	}
	found.search()
	found.keepBelow(full)
	if len(found.Dumps) == 0 {
		return found, fmt.Errorf("find dumps at %s: %w", path, found.nothing(full))
	}
	return found, nil
}

// root finds the folder that holds the steps: above a step or rank, at the path itself, or below it.
func (f *Found) root(path string) error {
	at := path
	if text := tooGreat(filepath.Base(at)); text != "" {
		return fmt.Errorf("%w: %s", ErrNoDump, text)
	}
	if _, ok := rankFolder(filepath.Base(at)); ok && !holdsParts(at) {
		at = filepath.Dir(at)
		if text := tooGreat(filepath.Base(at)); text != "" {
			return fmt.Errorf("%w: %s", ErrNoDump, text)
		}
		if _, ok := stepFolder(filepath.Base(at)); !ok && !holdsFile(path) {
			at = path
		}
	}
	if _, ok := stepFolder(filepath.Base(at)); ok {
		at = filepath.Dir(at)
	}
	f.Root = at
	if holdsParts(at) || holdsFile(at) {
		return nil
	}
	below := rootsBelow(at, 2)
	if len(below) > 1 {
		return fmt.Errorf("%d dumps are below, choose one: %s", len(below), strings.Join(below[:min(len(below), 5)], ", "))
	}
	if len(below) == 1 {
		f.Root = below[0]
	}
	return nil
}

func rootsBelow(dir string, levels int) []string {
	if levels == 0 {
		return nil
	}
	var roots []string
	for _, name := range folders(dir) {
		child := filepath.Join(dir, name)
		if holdsParts(child) || holdsFile(child) {
			roots = append(roots, child)
			continue
		}
		roots = append(roots, rootsBelow(child, levels-1)...)
	}
	return roots
}

// holdsParts says whether the folder has steps or ranks in it.
func holdsParts(dir string) bool {
	return slices.ContainsFunc(folders(dir), func(name string) bool {
		_, step := stepFolder(name)
		_, rank := rankFolder(name)
		return step || rank || tooGreat(name) != ""
	})
}

// holdsFile says whether the folder is one step of one rank.
func holdsFile(dir string) bool {
	for _, name := range []string{dumpFile, debugFile} {
		if info, err := os.Stat(filepath.Join(dir, name)); err == nil && info.Mode().IsRegular() {
			return true
		}
	}
	return false
}

// folders is the names of the folders in dir, links followed.
func folders(dir string) []string {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	var names []string
	for _, e := range entries {
		if info, err := os.Stat(filepath.Join(dir, e.Name())); err == nil && info.IsDir() {
			names = append(names, e.Name())
		}
	}
	return names
}

// parts are the folders in dir, less those whose number is too great.
func (f *Found) parts(dir string) []string {
	return slices.DeleteFunc(folders(dir), func(name string) bool {
		text := tooGreat(name)
		if text != "" {
			f.problem(filepath.Join(dir, name), text)
		}
		return text != ""
	})
}

func (f *Found) problem(dir, text string) {
	f.Problems.add(Problem{What: text, File: dir, Offset: -1})
}

// search lists the dumps of all steps under the root.
func (f *Found) search() {
	var steps []step
	names := f.parts(f.Root)
	for _, name := range names {
		number, ok := stepFolder(name)
		if !ok {
			continue
		}
		dir := filepath.Join(f.Root, name)
		s := readStep(dir, number, f.parts(dir))
		if len(s.ranks) == 0 {
			f.problem(s.dir, "a step without a rank")
			continue
		}
		steps = append(steps, s)
	}
	if len(steps) == 0 {
		steps = append(steps, readStep(f.Root, 0, names))
	}
	numberRanks(steps)
	for _, s := range steps {
		f.add(s)
	}
	slices.SortFunc(f.Dumps, compareDumps)
	f.Dumps = slices.CompactFunc(f.Dumps, func(a, b Dump) bool {
		same := a.Step == b.Step && a.Rank == b.Rank
		if same {
			f.problem(b.Dir, fmt.Sprintf("a second dump of step %d rank %d; the one in %s is kept", b.Step, b.Rank, a.Dir))
		}
		return same
	})
}

func (f *Found) add(s step) {
	for _, r := range s.ranks {
		if !holdsFile(r.dir) {
			f.problem(r.dir, "neither "+dumpFile+" nor "+debugFile+" in it")
			continue
		}
		f.RanksGuessed = f.RanksGuessed || r.guessed
		f.Dumps = append(f.Dumps, Dump{
			Step: s.number, Rank: r.number, Guessed: r.guessed, Dir: r.dir, SourceName: r.name, ModTimeNs: f.modTime(r.dir),
		})
	}
}

func (f *Found) modTime(dir string) int64 {
	for _, name := range []string{dumpFile, debugFile} {
		path := filepath.Join(dir, name)
		if info, err := os.Stat(path); err == nil {
			ns, err := producers.FileTimeNs(info.ModTime())
			if err != nil {
				f.problem(path, err.Error())
			}
			return ns
		}
	}
	return 0
}

// keepBelow drops the dumps that the path does not name.
func (f *Found) keepBelow(path string) {
	if path == f.Root || strings.HasPrefix(f.Root, path+string(filepath.Separator)) {
		return
	}
	f.Dumps = slices.DeleteFunc(f.Dumps, func(d Dump) bool {
		return d.Dir != path && !strings.HasPrefix(d.Dir, path+string(filepath.Separator))
	})
	f.RanksGuessed = slices.ContainsFunc(f.Dumps, func(d Dump) bool { return d.Guessed })
}

// nothing says what Find looked for and what it found instead.
func (f *Found) nothing(path string) error {
	if f.Problems.Count > 0 {
		return fmt.Errorf("%w: %s", ErrNoDump, f.Problems.First[0])
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return err
	}
	there := "the folder is empty"
	if len(entries) > 0 {
		var names []string
		for _, e := range entries[:min(len(entries), 5)] {
			names = append(names, e.Name())
		}
		there = fmt.Sprintf("it holds %d other entries: %s", len(entries), strings.Join(names, ", "))
	}
	return fmt.Errorf("%w: looked for step<N>/rank<R>/%s, rank<R>/%s and %s; %s", ErrNoDump, dumpFile, dumpFile, dumpFile, there)
}

func stepFolder(name string) (uint32, bool) {
	return numbered(name, "step")
}

// numbered reads a name that is prefix and a number.
func numbered(name, prefix string) (uint32, bool) {
	digits, ok := strings.CutPrefix(name, prefix)
	n, err := strconv.ParseUint(digits, 10, 32)
	return uint32(n), ok && err == nil
}

// tooGreat says why the name of a folder is that of no step and no rank, though it looks like one: its number does not
// fit. It is empty for other names.
func tooGreat(name string) string {
	for _, prefix := range []string{"step", "rank", "proc", "pid"} {
		digits, ok := strings.CutPrefix(name, prefix)
		if _, err := strconv.ParseUint(digits, 10, 32); ok && errors.Is(err, strconv.ErrRange) {
			return fmt.Sprintf("the number in %.40q is above the greatest that is kept, %d", name, uint32(math.MaxUint32))
		}
	}
	return ""
}
