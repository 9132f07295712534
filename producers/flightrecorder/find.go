package flightrecorder

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/zeebo/xxh3"

	"github.com/tensortap/tensortap/producers"
)

// mostBytes bounds a file: a ring of 2,000 calls with stacks takes some megabytes.
const mostBytes = 64 << 20

// trace is the file of one rank.
type trace struct {
	path      string
	rank      uint32
	modTimeNs int64
	bytes     int64
	digest    uint64
	content   recording
	problems  []string
}

// findTraces reads a file, or all files of a folder, by rank.
func findTraces(path string) (traces []*trace, problems producers.Problems, guessed bool, err error) {
	files, whole, err := candidates(path)
	for _, file := range files {
		t, err := readTrace(file)
		switch {
		case err == nil:
			traces = append(traces, t)
		case !whole:
			return nil, problems, false, fmt.Errorf("read %s: %w", file, err)
		case rankInName.MatchString(filepath.Base(file)):
			problems.Add(fmt.Sprintf("%s: %v", file, err))
		}
	}
	if err == nil && len(traces) == 0 {
		err = fmt.Errorf("%w: no file there has entries with profiling_name", ErrNoTrace)
	}
	if err != nil {
		return nil, problems, false, fmt.Errorf("find files of PyTorch's Flight Recorder at %s: %w", path, err)
	}
	guessed, err = setRanks(traces)
	shareGroups(traces)
	return traces, problems, guessed, err
}

// candidates are the path itself, or the files of a folder.
func candidates(path string) (files []string, whole bool, err error) {
	info, err := os.Stat(path)
	if err != nil || !info.IsDir() {
		return []string{path}, false, err
	}
	entries, err := os.ReadDir(path)
	for _, e := range entries {
		if e.Type().IsRegular() {
			files = append(files, filepath.Join(path, e.Name()))
		}
	}
	return files, true, err
}

func readTrace(path string) (*trace, error) {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return nil, cmp.Or(err, errors.New("it is no file that can be read"))
	}
	if info.Size() > mostBytes {
		return nil, fmt.Errorf("%d bytes, limit %d", info.Size(), int64(mostBytes))
	}
	text, err := os.ReadFile(path) //nolint:gosec // what the user named
	if err != nil {
		return nil, err
	}
	t := &trace{path: path, bytes: int64(len(text)), digest: xxh3.Hash(text)}
	if t.modTimeNs, err = producers.FileTimeNs(info.ModTime()); err != nil {
		t.problems = append(t.problems, err.Error())
	}
	t.content, err = parse(text)
	return t, err
}

// rankInName is the rank at the end of a file's name, as PyTorch writes it.
var rankInName = regexp.MustCompile(`^(?:.*[^0-9])?(\d{1,9})(?:\.[a-z]+)?$`)

// setRanks takes ranks from the names of files. Where one has none, all are numbered by their order.
func setRanks(traces []*trace) (guessed bool, err error) {
	for i, t := range traces {
		named := rankInName.FindStringSubmatch(strings.ToLower(filepath.Base(t.path)))
		if named == nil {
			number(traces)
			return true, nil
		}
		rank, _ := strconv.ParseUint(named[1], 10, 32)
		traces[i].rank = uint32(rank)
	}
	slices.SortStableFunc(traces, func(a, b *trace) int { return cmp.Compare(a.rank, b.rank) })
	for i := 1; i < len(traces); i++ {
		if traces[i].rank == traces[i-1].rank {
			return false, fmt.Errorf("%s and %s are both of rank %d: publish them as two runs", traces[i-1].path, traces[i].path, traces[i].rank)
		}
	}
	return false, nil
}

func number(traces []*trace) {
	for i, t := range traces {
		t.rank = uint32(i) //nolint:gosec // a folder has fewer files
	}
}
