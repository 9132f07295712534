package kernelcalls

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"

	"github.com/tensortap/tensortap/producers"
	"github.com/tensortap/tensortap/producers/internal/lines"
)

// log is the files of one run of a program.
type log struct {
	path      string // of the session's file, or of the folder of calls
	engine    string
	files     []file // in the order of the calls
	processes []int64
	modTimeNs int64
	bytes     int64
	problems  []string // of the log as a whole
}

// file has lines of one or several calls.
type file struct {
	path  string
	size  int64
	began string // by its name, where it is of one call
}

const session = "session.jsonl" // FlashInfer's, of all calls

// loser is told of a text that is no entry, and why.
type loser func(of file, text []byte, why error)

// folderOfCall is the name of a call's folder: when it began, its process, function and number.
var folderOfCall = regexp.MustCompile(`^(\d{8}_\d{6}_\d{3})_pid(\d+)_(.+)_call(\d+)$`)

// findLog looks for a session's file, or for a folder with one, or with the folders of calls.
func findLog(path string) (*log, error) {
	l := &log{path: path}
	if err := l.list(); err != nil {
		return nil, fmt.Errorf("find a log of kernel calls at %s: %w", path, err)
	}
	known := map[int64]bool{}
	err := l.each(func(_ file, e *entry) error {
		known[e.Process] = true
		l.engine = cmp.Or(l.engine, e.engine())
		return nil
	}, func(file, []byte, error) {})
	if err != nil {
		return nil, fmt.Errorf("read the log of kernel calls at %s: %w", path, err)
	}
	if len(known) == 0 {
		return nil, fmt.Errorf("find a log of kernel calls at %s: %w: nothing there has function_name and execution_status", path, ErrNoLog)
	}
	for process := range known {
		l.processes = append(l.processes, process)
	}
	slices.Sort(l.processes)
	return l, nil
}

// list finds the files.
func (l *log) list() error {
	info, err := os.Stat(l.path)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return l.add(l.path, "")
	}
	whole := filepath.Join(l.path, session)
	if _, err := os.Stat(whole); err == nil {
		return l.add(whole, "")
	}
	entries, err := os.ReadDir(l.path)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if named := folderOfCall.FindStringSubmatch(e.Name()); named != nil && e.IsDir() {
			l.addCall(filepath.Join(l.path, e.Name()), named[1])
		}
	}
	slices.SortStableFunc(l.files, func(a, b file) int { return cmp.Or(cmp.Compare(a.began, b.began), compareNumbers(a.path, b.path)) })
	return nil
}

// compareNumbers orders folders by the numbers of their calls.
func compareNumbers(a, b string) int {
	number := func(path string) uint64 {
		named := folderOfCall.FindStringSubmatch(filepath.Base(filepath.Dir(path)))
		n, _ := strconv.ParseUint(named[4], 10, 64)
		return n
	}
	return cmp.Or(cmp.Compare(number(a), number(b)), cmp.Compare(a, b))
}

// addCall adds the metadata in a call's folder. Without any, the call has left nothing that can be read.
func (l *log) addCall(dir, began string) {
	for _, name := range []string{"metadata.jsonl", "metadata.json"} {
		err := l.add(filepath.Join(dir, name), began)
		if err == nil {
			return
		}
		if !errors.Is(err, os.ErrNotExist) {
			l.problems = append(l.problems, err.Error())
			return
		}
	}
	l.problems = append(l.problems, dir+": it has no metadata of its call")
}

func (l *log) add(path, began string) error {
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s: it is no file that can be read", path)
	}
	if err != nil {
		return err
	}
	ns, err := producers.FileTimeNs(info.ModTime())
	if err != nil {
		l.problems = append(l.problems, fmt.Sprintf("%s: %v", path, err))
	}
	if l.modTimeNs = max(l.modTimeNs, ns); len(l.files) == 0 {
		l.modTimeNs = ns
	}
	l.files = append(l.files, file{path: path, size: info.Size(), began: began})
	l.bytes += info.Size()
	return nil
}

// each reads the entries of all files in order, and gives what is none to lost.
func (l *log) each(use func(file, *entry) error, lost loser) error {
	for _, f := range l.files {
		if err := f.each(use, lost); err != nil {
			return err
		}
	}
	return nil
}

func (f file) each(use func(file, *entry) error, lost loser) error {
	input, err := os.Open(f.path)
	if err != nil {
		return err
	}
	defer input.Close() //nolint:errcheck // only read
	if f.began != "" && filepath.Ext(f.path) == ".json" {
		return f.eachOf(input, use, lost)
	}
	return lines.Each(input, 0, func(l lines.Line) error {
		e, err := parse(l.Text)
		if err = cmp.Or(l.Err(), err); err != nil {
			lost(f, l.Text, err)
			return nil
		}
		return use(f, e)
	})
}

// eachOf reads a file that is one object over several lines.
func (f file) eachOf(input *os.File, use func(file, *entry) error, lost loser) error {
	if f.size > lines.Longest {
		lost(f, nil, fmt.Errorf("%d bytes, limit %d", f.size, lines.Longest))
		return nil
	}
	text := make([]byte, f.size)
	n, err := input.ReadAt(text, 0)
	text = bytes.TrimSpace(text[:n])
	e, parseErr := parse(text)
	if parseErr != nil {
		lost(f, text, cmp.Or(parseErr, err))
		return nil
	}
	return use(f, e)
}
