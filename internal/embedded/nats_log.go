package embedded

import (
	"errors"
	"fmt"
	"sync"

	"github.com/rs/zerolog"
)

// serverLog passes on the NATS server's warnings and errors, and keeps the last fatal one, which is the reason when a
// start fails. It must not end the process on one, as the server's own logger does.
type serverLog struct {
	log   zerolog.Logger
	mutex sync.Mutex
	last  error
}

// Noticef drops what is of no interest here.
func (*serverLog) Noticef(string, ...any) {}

// Debugf drops what is of no interest here.
func (*serverLog) Debugf(string, ...any) {}

// Tracef drops what is of no interest here.
func (*serverLog) Tracef(string, ...any) {}

// Warnf logs the warning.
func (l *serverLog) Warnf(format string, arguments ...any) {
	l.log.Warn().Str("text", fmt.Sprintf(format, arguments...)).Msg("nats server warns")
}

// Errorf logs the error.
func (l *serverLog) Errorf(format string, arguments ...any) {
	l.log.Error().Str("text", fmt.Sprintf(format, arguments...)).Msg("nats server reports an error")
}

// Fatalf keeps the error for fatal.
func (l *serverLog) Fatalf(format string, arguments ...any) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.last = errors.New(fmt.Sprintf(format, arguments...))
}

// fatal returns the last fatal error, nil if there was none.
func (l *serverLog) fatal() error {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.last
}
