package embedded

import (
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/rs/zerolog"
)

// serverLog passes on the NATS server's warnings and errors, each once until another comes. It also keeps two facts
// that the server reports only there: the fatal error for which a start failed (the server's own logger would end
// the process there), and that a write failed, after which a stream or consumer refuses everything until a restart.
type serverLog struct {
	log    zerolog.Logger
	mutex  sync.Mutex
	last   string
	gaveUp error
	failed bool
}

// Noticef drops messages of no interest here.
func (*serverLog) Noticef(string, ...any) {}

// Debugf drops messages of no interest here.
func (*serverLog) Debugf(string, ...any) {}

// Tracef drops messages of no interest here.
func (*serverLog) Tracef(string, ...any) {}

// Warnf logs the warning.
func (l *serverLog) Warnf(format string, arguments ...any) {
	if strings.HasPrefix(format, "Maximum payloads over") {
		return // chosen, and measured
	}
	if text, isNew := l.note(format, arguments); isNew {
		l.log.Warn().Str("text", text).Msg("nats server warns")
	}
}

// Errorf logs the error.
func (l *serverLog) Errorf(format string, arguments ...any) {
	if text, isNew := l.note(format, arguments); isNew {
		l.log.Error().Str("text", text).Msg("nats server reports an error")
	}
}

// Fatalf keeps the error for fatal.
func (l *serverLog) Fatalf(format string, arguments ...any) {
	text, _ := l.note(format, arguments)
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.gaveUp = errors.New(text)
}

// note returns the text and whether it differs from the last one.
func (l *serverLog) note(format string, arguments []any) (string, bool) {
	text := fmt.Sprintf(format, arguments...)
	lower := strings.ToLower(text)
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if strings.Contains(lower, "critical write error") || strings.Contains(lower, "no space left on device") {
		l.failed = true
	}
	isNew := text != l.last
	l.last = text
	return text, isNew
}

// fatal returns why the server gave up, nil if it did not.
func (l *serverLog) fatal() error {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.gaveUp
}

// writeFailed says whether a write to the disk failed since the start.
func (l *serverLog) writeFailed() bool {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.failed
}
