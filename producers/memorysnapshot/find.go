package memorysnapshot

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/tensortap/tensortap/internal/pickle"
	"github.com/tensortap/tensortap/producers"
)

// file is one snapshot.
type file struct {
	path       string
	rank, step uint32
	hasStep    bool
	modTimeNs  int64
	bytes      int64
}

// findFiles looks at one file, or at all *.pickle and *.pkl of a folder and its folders. In a folder, other pickles are
// named as problems.
func findFiles(path string) ([]file, producers.Problems, error) {
	var problems producers.Problems
	info, err := os.Stat(path)
	if err != nil {
		return nil, problems, err
	}
	if !info.IsDir() {
		return oneFile(path, info)
	}
	files, err := inFolder(path, &problems)
	if err == nil && len(files) == 0 {
		err = fmt.Errorf("%s: %w", path, ErrNoSnapshot)
	}
	numberSteps(files)
	return files, problems, err
}

func oneFile(path string, info fs.FileInfo) ([]file, producers.Problems, error) {
	var problems producers.Problems
	if err := probe(path); err != nil {
		return nil, problems, fmt.Errorf("%s: %w: %w", path, ErrNoSnapshot, err)
	}
	return []file{newFile(path, path, info, &problems)}, problems, nil
}

func inFolder(folder string, problems *producers.Problems) ([]file, error) {
	var files []file
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() || !slices.Contains([]string{".pickle", ".pkl"}, filepath.Ext(path)) {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		if err := probe(path); err != nil {
			problems.Add(fmt.Sprintf("%s: %v: %v", path, ErrNoSnapshot, err))
			return nil
		}
		within, err := filepath.Rel(folder, path)
		files = append(files, newFile(path, within, info, problems))
		return err
	})
	return files, err
}

// newFile takes rank and step from the path within the folder that was asked for.
func newFile(path, within string, info fs.FileInfo, problems *producers.Problems) file {
	modTimeNs, err := producers.FileTimeNs(info.ModTime())
	if err != nil {
		problems.Add(fmt.Sprintf("%s: %v", path, err))
	}
	f := file{path: path, modTimeNs: modTimeNs, bytes: info.Size()}
	f.rank, _ = numberIn(rankInName, within)
	f.step, f.hasStep = numberIn(stepInName, within)
	return f
}

// The names that torchtitan, Megatron, SGLang and users give: iteration_10/rank3_memory_snapshot.pickle,
// 1767323045.1-TP-3-memory.pickle, snapshot_rank_3_step_10.pickle.
var (
	rankInName = regexp.MustCompile(`(?i)(?:^|[^a-z])(?:rank|tp)[-_=]?([0-9]{1,9})`)
	stepInName = regexp.MustCompile(`(?i)(?:^|[^a-z])(?:step|iteration|iter)[-_=]?([0-9]{1,9})`)
)

// numberIn is the last number of its kind in a path.
func numberIn(pattern *regexp.Regexp, path string) (uint32, bool) {
	all := pattern.FindAllStringSubmatch(path, -1)
	if len(all) == 0 {
		return 0, false
	}
	n, err := strconv.ParseUint(all[len(all)-1][1], 10, 32)
	return uint32(n), err == nil
}

// numberSteps sorts the files, and gives steps in the order of time to the ranks that have not one for each file.
func numberSteps(files []file) {
	byRank := map[uint32][]*file{}
	for i := range files {
		byRank[files[i].rank] = append(byRank[files[i].rank], &files[i])
	}
	for _, of := range byRank {
		if stepsKnown(of) {
			continue
		}
		slices.SortFunc(of, inTime)
		for i, f := range of {
			f.step = uint32(i) //nolint:gosec // fewer than files
		}
	}
	slices.SortFunc(files, func(a, b file) int { return cmp.Or(cmp.Compare(a.step, b.step), cmp.Compare(a.rank, b.rank)) })
}

func stepsKnown(files []*file) bool {
	seen := map[uint32]bool{}
	for _, f := range files {
		if !f.hasStep || seen[f.step] {
			return false
		}
		seen[f.step] = true
	}
	return true
}

var digits = regexp.MustCompile(`[0-9]+`)

// inTime is the order of the numbers in names that are alike but for these, and else of the files' times.
func inTime(a, b *file) int {
	if digits.ReplaceAllString(a.path, "0") == digits.ReplaceAllString(b.path, "0") {
		return compareNumbers(digits.FindAllString(a.path, -1), digits.FindAllString(b.path, -1))
	}
	return cmp.Or(cmp.Compare(a.modTimeNs, b.modTimeNs), strings.Compare(a.path, b.path))
}

func compareNumbers(a, b []string) int {
	return slices.CompareFunc(a, b, func(x, y string) int {
		x, y = strings.TrimLeft(x, "0"), strings.TrimLeft(y, "0")
		return cmp.Or(cmp.Compare(len(x), len(y)), strings.Compare(x, y))
	})
}

// probe reads as far as it takes to tell a snapshot from other pickles: one begins with a key of its own.
func probe(path string) error {
	input, err := os.Open(path)
	if err != nil {
		return err
	}
	defer input.Close() //nolint:errcheck // only read
	m := newMachine(pickle.NewScanner(input), nobody{})
	var op pickle.Op
	for range mostProbed {
		if err = m.in.Next(&op); err == nil {
			err = m.do(&op)
		}
		if err != nil || m.part.kind == text && m.part.n < int64(fieldCount) {
			return err
		}
	}
	return errors.New("it begins with other things than segments and traces")
}

const mostProbed = 64 // operations

// nobody takes nothing.
type nobody struct{}

func (nobody) segment(*container, []block) {}
func (nobody) event(int, *container)       {}
func (nobody) ended(field)                 {}
