package logfiles

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/tensortap/tensortap/producers"
	"github.com/tensortap/tensortap/schemas"
)

const mostFiles = 10_000

// logs are the files at a path.
type logs struct {
	clock   clock
	files   []*file
	parts   []*part            // by file, then rank
	firstNs int64              // of the first line with a time, or of the first file
	guessed bool               // ranks are by the order of files, or of GPUs
	lost    producers.Problems // of files of which no line can be read
}

// part is the lines of a file that are of one rank.
type part struct {
	file *file
	rank uint32
}

func findLogs(path string, c clock) (*logs, error) {
	l := &logs{clock: c, firstNs: math.MaxInt64}
	if err := l.list(path); err != nil {
		return nil, fmt.Errorf("find logs at %s: %w", path, err)
	}
	l.setRanks()
	for _, f := range l.files {
		if err := f.index(); err != nil {
			return nil, fmt.Errorf("read %s: %w", f.path, err)
		}
		l.firstNs = min(l.firstNs, f.firstNs)
		l.guessed = l.guessed || f.places.guessed
		l.divide(f)
	}
	if len(l.parts) == 0 {
		because := strings.Join(append([]string{"no file there has a line"}, l.lost.First...), ": ")
		return nil, fmt.Errorf("find logs at %s: %w: %s", path, ErrNoLog, because)
	}
	return l, nil
}

// divide makes a part of each rank's lines in a file.
func (l *logs) divide(f *file) {
	ranks := f.places.ranks()
	for _, rank := range ranks {
		l.parts = append(l.parts, &part{f, rank})
	}
	if len(ranks) > 0 {
		return // which tells what is damaged
	}
	for _, problem := range f.problems {
		l.lost.Add(problem)
	}
}

// list finds the path itself, or the files below a folder that are named like logs.
func (l *logs) list(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return l.add(path, filepath.Base(path))
	}
	err = filepath.WalkDir(path, func(at string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() || !isLog(entry.Name()) {
			return err
		}
		if len(l.files) >= mostFiles {
			return fmt.Errorf("more than %d files: name a folder with fewer", mostFiles)
		}
		name, err := filepath.Rel(path, at)
		if err != nil {
			return err
		}
		return l.add(at, name)
	})
	if err == nil && len(l.files) == 0 {
		return fmt.Errorf("%w: no file there ends in .log, .out, .err or .txt, or is named like dynamo-fpm.….jsonl", ErrNoLog)
	}
	return err
}

// isLog says whether a file of a folder is named like a log: x.log, x.log.1, x.log.2.gz, stdout, x.err, or Dynamo's traces of
// forward passes.
func isLog(name string) bool {
	switch filepath.Ext(strings.TrimSuffix(name, packedSuffix)) {
	case ".log", ".out", ".err", ".txt":
		return true
	}
	return strings.Contains(name, ".log.") || strings.HasPrefix(name, "dynamo-fpm.") || name == "stdout" || name == "stderr"
}

func (l *logs) add(path, name string) error {
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("it is no file that can be read")
	}
	if err != nil {
		return err
	}
	f := &file{path: path, name: filepath.ToSlash(name), size: info.Size(), clock: l.clock}
	if f.modTimeNs, err = producers.FileTimeNs(info.ModTime()); err != nil {
		f.problems = append(f.problems, fmt.Sprintf("%s: %v", path, err))
	}
	f.firstNs = f.modTimeNs
	l.files = append(l.files, f)
	return nil
}

var (
	rankInName = regexp.MustCompile(`(?:^|[^a-z])(?:rank|tp|r)[_-]?(\d{1,9})(?:[^0-9]|$)`)
	torchrun   = regexp.MustCompile(`(?:^|/)attempt_\d+/(\d{1,9})/[^/]+$`)
)

// setRanks gives each file a rank by its name, by torchrun's folder, or by the order of the files.
func (l *logs) setRanks() {
	slices.SortFunc(l.files, func(a, b *file) int { return strings.Compare(a.name, b.name) })
	for i, f := range l.files {
		full := filepath.ToSlash(f.path)
		named := rankInName.FindStringSubmatch(strings.ToLower(filepath.Base(f.name)))
		if named == nil {
			named = torchrun.FindStringSubmatch(full)
		}
		if named == nil {
			f.places.usual = uint32(i) //nolint:gosec // fewer than files
			l.guessed = l.guessed || len(l.files) > 1
			continue
		}
		number, _ := strconv.ParseUint(named[1], 10, 32)
		f.places.usual = uint32(number)
	}
}

// ranks of the lines, in order; schemas.NoRank is the last.
func (p *places) ranks() []uint32 {
	known := map[uint32]bool{}
	for _, rank := range p.of {
		known[rank] = true
	}
	if p.bare {
		known[p.rest()] = true
	}
	var ranks []uint32
	for rank := range known {
		ranks = append(ranks, rank)
	}
	slices.Sort(ranks)
	return ranks
}

// rest is the rank of lines that name none: that of the file, unless others do name one.
func (p *places) rest() uint32 {
	if len(p.of) > 0 {
		return schemas.NoRank
	}
	return p.usual
}
