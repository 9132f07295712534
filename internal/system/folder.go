package system

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/tensortap/tensortap/consumers/parquet"
	"github.com/tensortap/tensortap/internal/durable"
	"github.com/tensortap/tensortap/internal/retention"
)

// Folder is where a system keeps everything, private to its user.
type Folder string

// Parts of the folder.
func (f Folder) nats() string       { return filepath.Join(string(f), "nats") }
func (f Folder) clickhouse() string { return filepath.Join(string(f), "clickhouse") }
func (f Folder) archive() string    { return filepath.Join(string(f), "archive") }
func (f Folder) spill() string      { return filepath.Join(string(f), "spill") }
func (f Folder) secrets() string    { return filepath.Join(string(f), "credentials.json") }
func (f Folder) endpoint() string   { return filepath.Join(string(f), "endpoint.json") }

// Endpoint tells other processes of the same user where a running system listens.
type Endpoint struct {
	Folder     Folder    `json:"folder"`
	PID        int       `json:"pid"`
	Started    time.Time `json:"started"`
	NATS       string    `json:"nats"`       // URL with token
	ClickHouse string    `json:"clickhouse"` // DSN of the owner
	Reader     string    `json:"reader"`     // DSN of the user who may only read
	Archive    string    `json:"archive"`    // folder of the Parquet files
	Login      Login     `json:"-"`          // of who connects
	Version    string    `json:"version"`    // of the program that runs; empty where it does not say
}

// ErrNotRunning says that no system runs on the folder; the caller may start one or name another.
var ErrNotRunning = errors.New("no system is running")

// ErrStarting says that a system is starting on the folder, or is there for a question of somebody else's.
var ErrStarting = errors.New("is still starting: try again")

// HeldError says who holds the folder.
type HeldError struct {
	Folder Folder
	Holder string
}

// Error implements error.
func (e *HeldError) Error() string {
	return fmt.Sprintf("%s is held by %s; stop it, or choose another folder with --data", e.Folder, e.Holder)
}

// open says whether other users may rename and remove what lies in the folder.
func (f Folder) open() bool {
	const others = 0o022
	info, err := os.Stat(string(f))
	return err == nil && info.Mode().Perm()&others != 0 && info.Mode()&fs.ModeSticky == 0
}

// lock takes the folder for this process until the file is closed. The lock
// is the kernel's, so it ends with its process however that ends.
func (f Folder) lock(ctx context.Context, now time.Time) (*os.File, error) {
	if err := durable.MakeFolder(string(f)); err != nil {
		return nil, fmt.Errorf("make data folder: %w", err)
	}
	path := filepath.Join(string(f), "lock")
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open lock of data folder: %w", err)
	}
	if !locked(ctx, file) {
		return nil, errors.Join(f.held(path), file.Close())
	}
	if err := errors.Join(file.Truncate(0), writeAt(file, holder(os.Getpid(), now)), f.makeUsers()); err != nil {
		return nil, errors.Join(fmt.Errorf("write lock of data folder: %w", err), durable.Unlock(file))
	}
	return file, nil
}

// locked takes the lock. A command that looks whether a system runs has it for
// a moment, so one refusal means nothing.
func locked(ctx context.Context, file *os.File) bool {
	for range 20 {
		if syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil {
			return true
		}
		select {
		case <-time.After(5 * time.Millisecond):
		case <-ctx.Done():
			return false
		}
	}
	return false
}

// holder is what the lock says of the process that has it.
func holder(pid int, since time.Time) string {
	return fmt.Sprintf("process %d since %s", pid, since.Format("2006-01-02 15:04:05.000"))
}

func writeAt(file *os.File, text string) error {
	_, err := file.WriteAt([]byte(text), 0)
	return err
}

func (f Folder) held(lock string) error {
	holder, err := os.ReadFile(lock)
	if err != nil || len(holder) == 0 {
		holder = []byte("another process")
	}
	return &HeldError{Folder: f, Holder: string(holder)}
}

// running says who holds the folder; empty if nobody does.
func (f Folder) running() (string, error) {
	file, err := os.Open(filepath.Join(string(f), "lock"))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("open lock of data folder: %w", err)
	}
	defer durable.Unlock(file) //nolint:errcheck // only read
	if syscall.Flock(int(file.Fd()), syscall.LOCK_SH|syscall.LOCK_NB) == nil {
		return "", nil
	}
	holder, err := io.ReadAll(file)
	if err != nil {
		return "", fmt.Errorf("read lock of data folder: %w", err)
	}
	return string(holder), nil
}

// Find reads where the system on the folder listens. Its error is
// ErrNotRunning when none runs.
func (f Folder) Find() (Endpoint, error) {
	running, err := f.running()
	if err != nil {
		return Endpoint{}, err
	}
	if running == "" {
		return Endpoint{}, fmt.Errorf("%w on %s: start one with `tensortap up`, or name one with --nats and --clickhouse", ErrNotRunning, f)
	}
	e, err := f.last()
	if err != nil {
		return Endpoint{}, err
	}
	if holder(e.PID, e.Started) != running { // what it says is of the system before this one
		return Endpoint{}, fmt.Errorf("the system on %s %w", f, ErrStarting)
	}
	return e, nil
}

// HasRun says whether a system ever ran on the folder.
func (f Folder) HasRun() bool {
	_, err := os.Stat(f.endpoint())
	return err == nil
}

// last is where the system on the folder listens or, while none runs, where
// the last one did; empty if there was none.
func (f Folder) last() (Endpoint, error) {
	data, err := os.ReadFile(f.endpoint())
	if errors.Is(err, fs.ErrNotExist) {
		return Endpoint{}, nil
	}
	if err != nil {
		return Endpoint{}, fmt.Errorf("read where the system listens: %w", err)
	}
	var e Endpoint
	if err := json.Unmarshal(data, &e); err != nil {
		return Endpoint{}, fmt.Errorf("read %s: %w", f.endpoint(), err)
	}
	return e, nil
}

// announce writes the endpoint for others.
func (e Endpoint) announce() error { return writeJSON(e.Folder.endpoint(), e) }

// Budget is how much disk the stream may use, and how much there is.
type Budget struct {
	StreamBytes int64
	StoreBytes  int64 // at least that: what was given to the stream before has to fit until it is given less
	FreeBytes   int64
}

// Limits of what the stream may use if nothing was asked for; a tenth of the disk goes before the least.
const (
	mostStream  = 50_000_000_000
	leastStream = 256 << 20
)

// mostShare is a tenth of a disk.
func mostShare(size int64) int64 { return min(mostStream, size/10) }

// streamShare is that, or half of what is free and what the stream has there, if that is less. What it has stays within.
func streamShare(size, free, has int64) int64 {
	return min(mostShare(size), max(leastStream, has, (has+free)/2))
}

// budget is what was asked for; when nothing was (0), the stream's share of the disk.
func (f Folder) budget(asked int64) (Budget, error) {
	var disk syscall.Statfs_t
	if err := syscall.Statfs(string(f), &disk); err != nil {
		return Budget{}, fmt.Errorf("measure disk of %s: %w", f, err)
	}
	b := Budget{StreamBytes: asked, FreeBytes: int64(disk.Bavail) * int64(disk.Bsize)} //nolint:gosec,unconvert // no disk is that large; types differ between systems
	size := int64(disk.Blocks) * int64(disk.Bsize)                                     //nolint:gosec,unconvert // likewise
	if asked == 0 {
		b.StreamBytes = streamShare(size, b.FreeBytes, int64(retention.BytesBelow(f.nats()))) //nolint:gosec // likewise
	}
	b.StoreBytes = max(b.StreamBytes, size) // whatever was asked for before was no more
	return b, nil
}

// ArchivedRuns are the names of the runs that the folder's archive holds, whether a system runs on it or not.
func ArchivedRuns(f Folder) ([]string, error) { return parquet.RunNames(f.archive()) }
