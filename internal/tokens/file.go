package tokens

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"
)

// lookEvery is how often the file is looked at for changes.
const lookEvery = time.Second

// File knows the tokens of a file, also those that are added and removed while it is in use.
type File struct {
	path string
	now  func() time.Time

	mutex   sync.Mutex
	known   map[[sha256.Size]byte]Bearer
	looked  time.Time
	failed  error // of the last look
	changed time.Time
	size    int64
}

// Open reads the file. It refuses one that others can write, and one without a token.
func Open(path string, now func() time.Time) (*File, error) {
	f := &File{path: path, now: now}
	if err := f.look(); err != nil {
		return nil, err
	}
	if len(f.known) == 0 {
		return nil, fmt.Errorf("%s holds no token: make one with tensortap token new --tokens %[1]s --role reader --name NAME", path)
	}
	return f, nil
}

// ErrUnknown says that nobody has such a token; who asks is told so.
var ErrUnknown = errors.New("no such token")

// Bearer is whose the token is. While the file cannot be read nobody is let in, as it may have let somebody go.
func (f *File) Bearer(token string) (Bearer, error) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if now := f.now(); now.Sub(f.looked) >= lookEvery {
		f.failed = f.look()
		f.looked = now
	}
	if f.failed != nil {
		return Bearer{}, f.failed
	}
	bearer, known := f.known[digestOf(token)]
	if !known {
		return Bearer{}, ErrUnknown
	}
	return bearer, nil
}

// look reads the file if it has changed.
func (f *File) look() error {
	info, err := os.Stat(f.path)
	if err != nil {
		return fmt.Errorf("read the tokens: %w", err)
	}
	if f.known != nil && info.ModTime().Equal(f.changed) && info.Size() == f.size {
		return nil
	}
	const others = 0o022
	if info.Mode().Perm()&others != 0 {
		return fmt.Errorf("read the tokens: others can write %s: chmod go-w", f.path)
	}
	text, err := os.ReadFile(f.path)
	if err != nil {
		return fmt.Errorf("read the tokens: %w", err)
	}
	known, err := parse(f.path, text)
	if err != nil {
		return err
	}
	f.known, f.changed, f.size = known, info.ModTime(), info.Size()
	return nil
}
