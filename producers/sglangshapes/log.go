package sglangshapes

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/tensortap/tensortap/producers"
)

// log is the file of one process.
type log struct {
	path      string
	rank      uint32
	modTimeNs int64
	summary   summary
	steps     []*step // by number
	records   uint64
	deduped   bool     // repeated lines are left out
	problems  []string // of the file as a whole; its last step tells of them
}

// step is the lines of one forward pass, or of all of a log without repetitions.
type step struct {
	number uint32
	ranges []span
	last   bool // of the log
}

// span is a part of a file.
type span struct{ from, to int64 }

func (s *step) bytes() (n int64) {
	for _, r := range s.ranges {
		n += r.to - r.from
	}
	return n
}

// summary is what the profiler writes beside its log when it ends in order.
type summary struct {
	Rank    *uint32 `json:"rank"`
	Total   *uint64 `json:"total_operations"`
	Dedupe  bool    `json:"dedupe_enabled"`
	Skipped uint64  `json:"dedupe_skipped_count"`
}

const (
	extension     = ".jsonl"
	summarySuffix = "_summary.json"
	mostSummary   = 64 << 20 // bytes
)

// findLogs reads where the steps are of a log, or of all logs of a folder, by rank.
func findLogs(path string) (logs []*log, guessed bool, err error) {
	files, err := candidates(path)
	if err != nil {
		return nil, false, fmt.Errorf("find logs of the shape profiler at %s: %w", path, err)
	}
	for _, file := range files {
		l, err := findLog(file)
		if err != nil {
			return nil, false, fmt.Errorf("read %s: %w", file, err)
		}
		if l != nil {
			logs = append(logs, l)
		}
	}
	if len(logs) == 0 {
		return nil, false, fmt.Errorf("find logs of the shape profiler at %s: %w: no file there has a line with call_id, forward_pass and operation", path, ErrNoLog)
	}
	guessed, err = setRanks(logs)
	return logs, guessed, err
}

// candidates are the path itself, or the files of a folder that are named like logs.
func candidates(path string) ([]string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return []string{path}, nil
	}
	files, err := filepath.Glob(filepath.Join(escapeGlob(path), "*"+extension))
	slices.Sort(files)
	return files, err
}

// escapeGlob has a folder's name stand for itself.
func escapeGlob(path string) string {
	return regexp.MustCompile(`[\\*?[]`).ReplaceAllString(path, `\$0`)
}

// findLog is nil for a file that has no line of the profiler.
func findLog(path string) (*log, error) {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return nil, cmp.Or(err, errors.New("it is no file that can be read"))
	}
	l := &log{path: path}
	if l.modTimeNs, err = producers.FileTimeNs(info.ModTime()); err != nil {
		l.problems = append(l.problems, fmt.Sprintf("%s: %v", path, err))
	}
	if err := l.readSummary(); err != nil {
		l.problems = append(l.problems, err.Error())
	}
	if err := l.index(); err != nil || len(l.steps) == 0 {
		return nil, err
	}
	return l, nil
}

func (l *log) readSummary() error {
	path := strings.TrimSuffix(l.path, filepath.Ext(l.path)) + summarySuffix
	info, err := os.Stat(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err == nil && info.Size() > mostSummary {
		err = fmt.Errorf("%d bytes, limit %d", info.Size(), mostSummary)
	}
	var content []byte
	if err == nil {
		content, err = os.ReadFile(path) //nolint:gosec // the file beside the one that was asked for
	}
	if err == nil {
		err = json.Unmarshal(content, &l.summary)
	}
	if err != nil {
		return fmt.Errorf("read the summary %s, which has the rank and whether repetitions are left out: %w", path, err)
	}
	return nil
}

// rankInName is a rank in the name of a file.
var rankInName = regexp.MustCompile(`(?:^|[^a-z])(?:rank|tp|r)[_-]?(\d{1,9})(?:[^0-9]|$)`)

// setRanks takes ranks from the summaries, else from the names of files, else from their order.
func setRanks(logs []*log) (guessed bool, err error) {
	for i, l := range logs {
		named := rankInName.FindStringSubmatch(strings.ToLower(filepath.Base(l.path)))
		switch {
		case l.summary.Rank != nil:
			l.rank = *l.summary.Rank
		case named != nil:
			number, _ := strconv.ParseUint(named[1], 10, 32)
			l.rank = uint32(number)
		default:
			l.rank = uint32(i) //nolint:gosec // a folder has fewer files
			guessed = guessed || len(logs) > 1
		}
	}
	slices.SortStableFunc(logs, func(a, b *log) int { return cmp.Compare(a.rank, b.rank) })
	for i := 1; i < len(logs); i++ {
		if logs[i].rank == logs[i-1].rank {
			return guessed, fmt.Errorf("%s and %s are both of rank %d: publish them as two runs, or name them by their ranks (x_rank1.jsonl)", logs[i-1].path, logs[i].path, logs[i].rank)
		}
	}
	return guessed, nil
}
