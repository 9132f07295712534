package embedded

import (
	"bytes"
	"errors"
	"sync"

	"github.com/rs/zerolog"
)

// tailBytes is the length of the child's last output that an error repeats.
const tailBytes = 2 << 10

// tail is the child's standard error: it goes to the log, line by line, and its end is kept for the error.
type tail struct {
	log   zerolog.Logger
	ended func() error // the context's: after the order to stop, the child's last output does not matter
	mutex sync.Mutex
	kept  []byte
	line  []byte
}

// Write never fails.
func (t *tail) Write(p []byte) (int, error) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	t.kept = append(t.kept, p...)
	t.kept = t.kept[max(0, len(t.kept)-tailBytes):]
	t.line = append(t.line, p...)
	for {
		line, rest, found := bytes.Cut(t.line, []byte{'\n'})
		if !found && len(t.line) < tailBytes {
			return len(p), nil
		}
		if len(bytes.TrimSpace(line)) > 0 {
			t.log.WithLevel(t.level()).Bytes("text", line).Msg("clickhouse engine says")
		}
		t.line = append([]byte(nil), rest...)
	}
}

func (t *tail) level() zerolog.Level {
	if t.ended() != nil {
		return zerolog.DebugLevel
	}
	return zerolog.WarnLevel
}

// err returns the kept output, nil if there is none.
func (t *tail) err() error {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	if text := bytes.TrimSpace(t.kept); len(text) > 0 {
		return errors.New(string(text))
	}
	return nil
}
