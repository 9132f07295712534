package follow

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// Patterns completes the configuration for files that match any of the patterns, now or later. A file that is renamed
// goes on under the name that it had, one that is made anew begins anew, one that is cut short begins again.
func Patterns(cfg Config, patterns []string) (Config, error) { //nolint:gocritic // copied to be completed
	for _, pattern := range patterns {
		if _, err := filepath.Match(pattern, ""); err != nil {
			return cfg, fmt.Errorf("pattern %s: %w", pattern, err)
		}
	}
	l := &listing{patterns: patterns, known: map[string]File{}}
	cfg.Files, cfg.Where, cfg.LineTimes = l.files, l.where, true
	return cfg, nil
}

// mostFollowed is how many files are followed at a time.
const mostFollowed = 10_000

// listing knows the files that matched once.
type listing struct {
	patterns []string
	mutex    sync.Mutex
	known    map[string]File
}

func (l *listing) files() ([]File, bool, error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	found := map[string]File{}
	for _, pattern := range l.patterns {
		paths, _ := filepath.Glob(pattern) // it is good
		for _, path := range paths {
			if id, err := identityOf(path); err == nil && len(found) < mostFollowed {
				found[id] = File{ID: id, Path: path, Stream: path}
			}
		}
	}
	l.renamed(found)
	l.known = found
	var all []File
	for _, file := range found {
		all = append(all, file)
	}
	slices.SortFunc(all, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	return all, false, nil
}

// renamed looks for files that matched before, and have a longer name in their folder now.
func (l *listing) renamed(found map[string]File) {
	for id, before := range l.known {
		if now, matches := found[id]; matches {
			now.Stream = before.Stream
			found[id] = now
			continue
		}
		if path := renamedFrom(before.Stream, id); path != "" {
			found[id] = File{ID: id, Path: path, Stream: before.Stream}
		}
	}
}

func renamedFrom(path, id string) string {
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		return ""
	}
	for _, entry := range entries {
		candidate := filepath.Join(filepath.Dir(path), entry.Name())
		if !strings.HasPrefix(entry.Name(), strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))) {
			continue
		}
		if other, err := identityOf(candidate); err == nil && other == id {
			return candidate
		}
	}
	return ""
}

// where is the path that a file has now, which had that one.
func (l *listing) where(id, path string) string {
	if now, err := identityOf(path); err == nil && now == id {
		return path
	}
	if renamed := renamedFrom(path, id); renamed != "" {
		return renamed
	}
	return path
}

// identityOf tells a file from another that later has its name, or its number on the disk.
func identityOf(path string) (string, error) {
	var s unix.Statx_t
	if err := unix.Statx(unix.AT_FDCWD, path, 0, unix.STATX_BASIC_STATS|unix.STATX_BTIME, &s); err != nil {
		return "", err
	}
	if s.Mode&unix.S_IFMT != unix.S_IFREG {
		return "", errors.New("no file")
	}
	return fmt.Sprintf("%d:%d:%d:%d.%d", s.Dev_major, s.Dev_minor, s.Ino, s.Btime.Sec, s.Btime.Nsec), nil
}
