package schemas

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// streamReader reads the messages of an Arrow IPC stream in memory. arrow-go's own reader copies
// every body, and first allocates whatever length the bytes claim.
type streamReader struct{ rest []byte }

const (
	continuation = 0xffffffff
	prefixBytes  = 8 // continuation, then the length of the metadata
)

// Message implements ipc.MessageReader.
func (r *streamReader) Message() (*ipc.Message, error) {
	if len(r.rest) < prefixBytes {
		return nil, io.ErrUnexpectedEOF
	}
	if mark := binary.LittleEndian.Uint32(r.rest); mark != continuation {
		return nil, fmt.Errorf("an Arrow message begins with %08x, want %08x", mark, uint32(continuation))
	}
	length := int(binary.LittleEndian.Uint32(r.rest[4:]))
	r.rest = r.rest[prefixBytes:]
	if length == 0 {
		return nil, io.EOF
	}
	meta, err := r.take(length)
	if err != nil {
		return nil, err
	}
	claimed, err := checkClaims(meta)
	if err != nil {
		return nil, err
	}
	body, err := r.take(int(claimed))
	if err != nil {
		return nil, err
	}
	return ipc.NewMessage(memory.NewBufferBytes(meta), memory.NewBufferBytes(body)), nil
}

func (r *streamReader) take(length int) ([]byte, error) {
	if length < 0 || length > len(r.rest) {
		return nil, fmt.Errorf("an Arrow message of %d bytes, %d are left: %w", length, len(r.rest), io.ErrUnexpectedEOF)
	}
	taken := r.rest[:length:length]
	r.rest = r.rest[length:]
	return taken, nil
}

// Retain implements ipc.MessageReader; the bytes are the garbage collector's.
func (*streamReader) Retain() {}

// Release implements ipc.MessageReader.
func (*streamReader) Release() {}

// firstBatch reads the one batch of a stream, over the stream's own memory.
func firstBatch(stream []byte) (record arrow.RecordBatch, err error) {
	// arrow-go may panic on bytes that were never an Arrow stream
	defer func() {
		if r := recover(); r != nil {
			record, err = nil, fmt.Errorf("decode rows: %v", r)
		}
	}()
	reader, err := ipc.NewReaderFromMessageReader(&streamReader{rest: stream}, ipc.WithEnsureNativeEndian(false))
	if err != nil {
		return nil, fmt.Errorf("decode rows: %w", err)
	}
	if err := checkTypes(reader.Schema()); err != nil {
		return nil, fmt.Errorf("decode rows: %w", err)
	}
	if !reader.Next() {
		return nil, fmt.Errorf("decode rows: no batch in the stream: %w", errors.Join(reader.Err(), io.ErrUnexpectedEOF))
	}
	return reader.RecordBatch(), nil
}
