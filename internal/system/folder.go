package system

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// Folder is where a system keeps everything, private to its user.
type Folder string

// Parts of the folder.
func (f Folder) nats() string       { return filepath.Join(string(f), "nats") }
func (f Folder) clickhouse() string { return filepath.Join(string(f), "clickhouse") }
func (f Folder) archive() string    { return filepath.Join(string(f), "archive") }
func (f Folder) spill() string      { return filepath.Join(string(f), "spill") }
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
}

// ErrNotRunning says that no system runs on the folder; the caller may start one or name another.
var ErrNotRunning = errors.New("no system is running")

// HeldError says who holds the folder.
type HeldError struct {
	Folder Folder
	Holder string
}

// Error implements error.
func (e *HeldError) Error() string {
	return fmt.Sprintf("%s is held by %s; stop it, or choose another folder with --data", e.Folder, e.Holder)
}

// lock takes the folder for this process until the file is closed. The lock
// is the kernel's, so it ends with its process however that ends.
func (f Folder) lock(now time.Time) (*os.File, error) {
	if err := os.MkdirAll(string(f), 0o700); err != nil {
		return nil, fmt.Errorf("make data folder: %w", err)
	}
	path := filepath.Join(string(f), "lock")
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open lock of data folder: %w", err)
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(f.held(path), file.Close())
	}
	holder := fmt.Sprintf("process %d since %s", os.Getpid(), now.Format(time.DateTime))
	if err := errors.Join(file.Truncate(0), writeAt(file, holder)); err != nil {
		return nil, errors.Join(fmt.Errorf("write lock of data folder: %w", err), file.Close())
	}
	return file, nil
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

// running says whether some process holds the folder.
func (f Folder) running() (bool, error) {
	file, err := os.Open(filepath.Join(string(f), "lock"))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("open lock of data folder: %w", err)
	}
	held := syscall.Flock(int(file.Fd()), syscall.LOCK_SH|syscall.LOCK_NB) != nil
	return held, file.Close()
}

// Find reads where the system on the folder listens. Its error is
// ErrNotRunning when none runs.
func (f Folder) Find() (Endpoint, error) {
	running, err := f.running()
	if err != nil {
		return Endpoint{}, err
	}
	if !running {
		return Endpoint{}, fmt.Errorf("%w on %s: start one with `tensortap up`, or name one with --nats and --clickhouse", ErrNotRunning, f)
	}
	data, err := os.ReadFile(f.endpoint())
	if errors.Is(err, fs.ErrNotExist) {
		return Endpoint{}, fmt.Errorf("the system on %s is still starting or stopping: try again", f)
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

// announce writes the endpoint for others, whole or not at all.
func (e Endpoint) announce() error {
	data, err := json.MarshalIndent(e, "", "  ")
	if err != nil {
		return fmt.Errorf("encode endpoint: %w", err)
	}
	partial := e.Folder.endpoint() + ".tmp"
	if err := os.WriteFile(partial, append(data, '\n'), 0o600); err != nil {
		return fmt.Errorf("write endpoint: %w", err)
	}
	if err := os.Rename(partial, e.Folder.endpoint()); err != nil {
		return fmt.Errorf("write endpoint: %w", err)
	}
	return nil
}

// Budget is how much disk the stream may use, and how much there is.
type Budget struct {
	StreamBytes int64
	FreeBytes   int64
}

// budget is what was asked for; when nothing was (0), a tenth of the disk, 50 GB at most.
func (f Folder) budget(asked int64) (Budget, error) {
	var disk syscall.Statfs_t
	if err := syscall.Statfs(string(f), &disk); err != nil {
		return Budget{}, fmt.Errorf("measure disk of %s: %w", f, err)
	}
	const most = 50_000_000_000
	b := Budget{StreamBytes: asked, FreeBytes: int64(disk.Bavail) * disk.Bsize} //nolint:gosec // no disk is that large
	if asked == 0 {
		b.StreamBytes = min(most, int64(disk.Blocks)*disk.Bsize/10) //nolint:gosec // no disk is that large
	}
	return b, nil
}
