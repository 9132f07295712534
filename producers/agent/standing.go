package agent

import (
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/tensortap/tensortap/schemas"
)

// Spool is the folder of a process that is not published whole.
type Spool struct {
	Name    string
	Run     string    // empty while the process is making the folder
	PID     uint64    // 0 while it is
	Bytes   int64     // on the disk
	Dropped uint64    // records that the process could not keep
	Looked  time.Time // when an agent last showed that it is there; zero when none ever did
	Beat    time.Time // when the process last showed that it lives, by its clock
	Ended   bool      // the process has ended by itself
	Touched time.Time // when the process, or an agent that publishes it, last wrote anything there
}

// Spools lists the folders below the root that are not published whole. A root that is not there has none.
func Spools(root string) ([]Spool, error) {
	var found []Spool
	err := eachFolder(root, func(folders *os.Root, name string) { found = append(found, spoolOf(folders, root, name)) })
	return found, err
}

// spoolOf is what can be read of a folder while its process and its agent are at work.
func spoolOf(folders *os.Root, root, name string) Spool {
	s := Spool{Name: name, Run: runOf(folders, name)}
	s.Bytes, s.Touched = onDisk(filepath.Join(root, name))
	page := make([]byte, schemas.SpoolHeaderBytes)
	file, err := folders.Open(filepath.Join(name, headerFile))
	if err != nil {
		return s
	}
	defer file.Close() //nolint:errcheck // only read
	h := header{page: page}
	if _, err := file.ReadAt(page, 0); err != nil || h.check() != nil {
		return s
	}
	head := h.load()
	s.PID, s.Dropped, s.Ended = head.PID, head.DroppedCount, head.State == stateEnded
	s.Beat, s.Looked = timeOf(head.HeartbeatNs), timeOf(h.looked())
	for _, at := range []time.Time{s.Looked, s.Beat} { // memory that is mapped tells of its changes a while later
		if at.After(s.Touched) {
			s.Touched = at
		}
	}
	return s
}

// timeOf is the zero time for 0.
func timeOf(ns int64) time.Time {
	if ns == 0 {
		return time.Time{}
	}
	return time.Unix(0, ns)
}

// onDisk is what the files of a folder take, and when one but the lock was last written; files that vanish meanwhile take nothing.
func onDisk(folder string) (bytes int64, touched time.Time) {
	const block = 512
	files, err := os.ReadDir(folder)
	if err != nil {
		return 0, touched
	}
	for _, file := range files {
		info, err := file.Info()
		if err != nil {
			continue
		}
		if status, ok := info.Sys().(*syscall.Stat_t); ok {
			bytes += status.Blocks * block
		}
		if file.Name() != lockFile && info.ModTime().After(touched) {
			touched = info.ModTime()
		}
	}
	return bytes, touched
}

// Waiting is for how long the oldest record that was seen waits to be acknowledged by the stream; 0 when none does.
func (a *Agent) Waiting() time.Duration {
	var longest time.Duration
	now := a.cfg.Now()
	for _, s := range a.current() {
		if since := s.waitingSince.Load(); since != 0 {
			longest = max(longest, now.Sub(time.Unix(0, since)))
		}
	}
	return longest
}

// Kept is how many folders of processes there are, and what they take on the disk.
func (a *Agent) Kept() (folders int, bytes int64) {
	entries, err := os.ReadDir(a.cfg.Root)
	if err != nil {
		return 0, 0 // not there yet, or reported by Run
	}
	for _, entry := range entries {
		if folderName.MatchString(entry.Name()) {
			folders++
			size, _ := onDisk(filepath.Join(a.cfg.Root, entry.Name()))
			bytes += size
		}
	}
	return folders, bytes
}

// countDropped counts what a process dropped since the last look. It holds the mutex. A page that could not be read tells 0.
func (a *Agent) countDropped(name string, dropped uint64) {
	if before := a.dropped[name]; dropped > before {
		a.counts.Dropped.Add(dropped - before)
		a.dropped[name] = dropped
	}
}

// countLast is countDropped for a process that is gone.
func (a *Agent) countLast(name string, dropped uint64) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	a.countDropped(name, dropped)
	delete(a.dropped, name)
}
