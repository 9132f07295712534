// Package logs keeps the output of the processes of a launched program, each apart from the others.
//
// A process writes into files of its own, in a folder that the launcher names, and not into a pipe: so it never waits
// for a reader, and loses nothing when it is killed. [Forwarder] reads these files while they are written and hands
// their content on, as if the processes had printed it to the launcher's own output. [Read] gives it back later, line
// by line.
package logs

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Endings of the files of a process; their names begin with its id.
const (
	outEnding = ".out"
	errEnding = ".err"
	timesName = "times" // for each part of a file, when it was read
)

// Bytes of a file that are kept on the disk: of a longer file, the part between its beginning and its end is
// given up.
const (
	keptHead = 16 << 20
	keptTail = 48 << 20
)

// Launch is the folder of one launch of a program.
type Launch string

// NewLaunch makes the folder of a launch at that time, below the folder of its run.
func NewLaunch(run string, at time.Time) (Launch, error) {
	folder := filepath.Join(run, at.UTC().Format("20060102T150405.000000000"))
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return "", fmt.Errorf("make the folder of what the program prints: %w", err)
	}
	return Launch(folder), nil
}

// Files of a launch beside those of its processes.
const (
	launcherName = "launcher" // the id of the process that hands the output on
	endedName    = "ended"
	// StateName is the file in which a follower notes what it has published.
	StateName = "published"
)

// Begin notes who launches, so that others can tell whether the launch goes on.
func (l Launch) Begin(pid int) error {
	return os.WriteFile(filepath.Join(string(l), launcherName), []byte(strconv.Itoa(pid)), 0o600)
}

// End notes that nothing more will be printed.
func (l Launch) End() error {
	err := os.WriteFile(filepath.Join(string(l), endedName), nil, 0o600)
	if errors.Is(err, os.ErrNotExist) { // nothing was printed at all
		return nil
	}
	return err
}

// Ended says whether nothing more will be printed: the launcher says so or is gone, and so are all its processes.
func (l Launch) Ended() bool {
	if _, err := os.Stat(string(l)); errors.Is(err, os.ErrNotExist) {
		return true
	}
	return !l.launching() && !l.Outlived()
}

func (l Launch) launching() bool {
	if _, err := os.Stat(filepath.Join(string(l), endedName)); err == nil {
		return false
	}
	text, err := os.ReadFile(filepath.Join(string(l), launcherName))
	pid, failed := strconv.Atoi(string(text))
	return err == nil && failed == nil && alive(pid)
}

// Outlived says whether processes live that may print.
func (l Launch) Outlived() bool {
	files, err := l.files()
	return err == nil && slices.ContainsFunc(files, func(f file) bool { return alive(f.pid) })
}

// alive says whether a process is there, and not just nobody has asked yet how it ended.
func alive(pid int) bool {
	stat, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return pid > 0 && !errors.Is(unix.Kill(pid, 0), unix.ESRCH)
	}
	behind := strings.LastIndexByte(string(stat), ')') // of the name
	return !strings.HasPrefix(string(stat[behind+1:]), " Z")
}

// Begun says whether Begin was called: launches of earlier releases are left alone.
func (l Launch) Begun() bool {
	_, err := os.Stat(filepath.Join(string(l), launcherName))
	return err == nil
}

// Output is the file of one stream of a process.
type Output struct {
	Name, Path string
	PID        int
	Stderr     bool
}

// Outputs are the files of all processes so far.
func (l Launch) Outputs() ([]Output, error) {
	files, err := l.files()
	if errors.Is(err, os.ErrNotExist) { // it was removed, as nothing was printed
		return nil, nil
	}
	outputs := make([]Output, len(files))
	for i, f := range files {
		outputs[i] = Output{Name: f.name, Path: filepath.Join(string(l), f.name), PID: f.pid, Stderr: f.stderr}
	}
	return outputs, err
}

// HasRoom says whether so many bytes are free on the launch's disk. Where it is full, printing fails, which a process may
// not survive.
func (l Launch) HasRoom(bytes uint64) bool {
	var disk unix.Statfs_t
	return unix.Statfs(string(l), &disk) == nil && disk.Bavail*uint64(disk.Bsize) >= bytes //nolint:gosec // never negative
}

// Variable tells processes where to write: the folder, then the identity of standard output and error while these
// are the launcher's. Empty when neither stream can be identified.
func (l Launch) Variable(out, err *os.File) string {
	links := stream(out) + "\n" + stream(err)
	if links == "\n" {
		return ""
	}
	return "TENSORTAP_LOGS=" + string(l) + "\n" + links
}

// stream is the system's identity of an open file; empty for none.
func stream(file *os.File) string {
	if file == nil {
		return ""
	}
	link, err := os.Readlink("/proc/self/fd/" + strconv.Itoa(int(file.Fd()))) //nolint:gosec // small
	if err != nil || strings.Contains(link, "\n") {
		return ""
	}
	return link
}

// file is one of the launch's files.
type file struct {
	name   string
	pid    int
	stderr bool
}

// files are the files of all processes so far.
func (l Launch) files() ([]file, error) {
	entries, err := os.ReadDir(string(l))
	if err != nil {
		return nil, fmt.Errorf("list what processes have printed: %w", err)
	}
	var files []file
	for _, entry := range entries {
		id, ending, _ := strings.Cut(entry.Name(), ".")
		pid, err := strconv.Atoi(id)
		if ending = "." + ending; err == nil && (ending == outEnding || ending == errEnding) {
			files = append(files, file{name: entry.Name(), pid: pid, stderr: ending == errEnding})
		}
	}
	return files, nil
}

// open opens a file that a process writes.
func (l Launch) open(f file) (*os.File, error) {
	return os.OpenFile(filepath.Join(string(l), f.name), os.O_RDWR, 0)
}

// tidy removes the files of processes that have printed nothing and the folder, if nothing is left in it.
func (l Launch) tidy() error {
	files, err := l.files()
	for _, f := range files {
		path := filepath.Join(string(l), f.name)
		if info, failed := os.Stat(path); failed == nil && info.Size() == 0 {
			err = errors.Join(err, os.Remove(path))
		}
	}
	if left, failed := l.files(); failed == nil && len(left) == 0 {
		err = errors.Join(err, os.RemoveAll(string(l)))
	}
	return err
}
