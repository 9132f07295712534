package testbed

import (
	"bytes"
	"sync"
)

// Buffer may be written and read at the same time.
type Buffer struct {
	mutex sync.Mutex
	bytes bytes.Buffer
}

// Write implements io.Writer.
func (b *Buffer) Write(p []byte) (int, error) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return b.bytes.Write(p)
}

// String is all that was written so far.
func (b *Buffer) String() string {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return b.bytes.String()
}
