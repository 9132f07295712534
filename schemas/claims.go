package schemas

import (
	"errors"
	"fmt"

	flatbuffers "github.com/google/flatbuffers/go"
)

// Slots of the tables of Arrow's format, as Message.fbs and Schema.fbs of Arrow 1.5 number them.
const (
	messageHeaderType = 6
	messageHeader     = 8
	messageBody       = 10
	messageMetadata   = 12
	schemaFields      = 6
	schemaMetadata    = 8
	fieldName         = 4
	fieldChildren     = 14
	fieldMetadata     = 16
	pairKey           = 4
	pairValue         = 6
	batchNodes        = 6
	batchBuffers      = 8
	batchCompression  = 10
	batchVariadic     = 12

	headerIsSchema = 1
	headerIsBatch  = 3
	offsetBytes    = 4
	longsBytes     = 16 // of two numbers beside each other
)

// Limits of the metadata of an Arrow message. A table's own take some kilobytes, and its fields lie three deep.
const (
	maxMetadataBytes = 1 << 20
	maxFieldDepth    = 8
)

// claims counts the bytes that the metadata of an Arrow message claims to hold. arrow-go allocates as much as a length
// claims, and a Go program that runs out of memory or of stack cannot be recovered. Each entry and each text has bytes of
// its own, so all of them together are no longer than the metadata.
type claims struct {
	left  int
	depth int // of fields within fields
}

// checkClaims refuses metadata that claims more than it is, or what no table has, and says how long the body is. It may
// panic on bytes that are no metadata at all.
func checkClaims(metadata []byte) (body int64, err error) {
	if len(metadata) > maxMetadataBytes {
		return 0, fmt.Errorf("an Arrow message has %d bytes of metadata, limit %d", len(metadata), maxMetadataBytes)
	}
	c := claims{left: len(metadata)}
	message := flatbuffers.Table{Bytes: metadata, Pos: flatbuffers.GetUOffsetT(metadata)}
	if err := c.pairs(&message, messageMetadata); err != nil {
		return 0, err
	}
	body = message.GetInt64Slot(messageBody, 0)
	offset := flatbuffers.UOffsetT(message.Offset(messageHeader))
	if offset == 0 {
		return 0, errors.New("an Arrow message without a header")
	}
	var header flatbuffers.Table
	message.Union(&header, offset)
	switch kind := message.GetByteSlot(messageHeaderType, 0); kind {
	case headerIsSchema:
		return body, errors.Join(c.pairs(&header, schemaMetadata), c.fields(&header, schemaFields))
	case headerIsBatch:
		return body, c.batch(&header, body)
	default:
		return 0, fmt.Errorf("an Arrow message of sort %d, want a schema or a batch", kind)
	}
}

// batch refuses arrays and buffers that do not lie in the body, one behind the other.
func (c *claims) batch(of *flatbuffers.Table, body int64) error {
	if of.Offset(batchCompression) != 0 || of.Offset(batchVariadic) != 0 {
		return errors.New("a batch that is compressed within its stream, or holds views of texts: no table is written so")
	}
	// No value is shorter than a bit.
	err := c.longs(of, batchNodes, func(rows, nulls int64) error {
		if rows < 0 || rows/8 > body || nulls < 0 || nulls > rows {
			return fmt.Errorf("a column of %d rows with %d nulls in %d bytes", rows, nulls, body)
		}
		return nil
	})
	if err != nil {
		return err
	}
	end := int64(0)
	return c.longs(of, batchBuffers, func(at, length int64) error {
		if length == 0 {
			return nil
		}
		if length < 0 || at < end || at > body || length > body-at {
			return fmt.Errorf("a buffer of %d bytes from %d on in a body of %d bytes, the one before it ends at %d", length, at, body, end)
		}
		end = at + length
		return nil
	})
}

// longs calls do for each pair of numbers of a vector.
func (c *claims) longs(of *flatbuffers.Table, slot flatbuffers.VOffsetT, do func(a, b int64) error) error {
	offset := flatbuffers.UOffsetT(of.Offset(slot))
	if offset == 0 {
		return nil
	}
	count := of.VectorLen(offset)
	if err := c.claim(count, longsBytes); err != nil {
		return err
	}
	first := of.Vector(offset)
	for i := range count {
		at := first + flatbuffers.UOffsetT(i*longsBytes) //nolint:gosec // claim has bounded it
		if err := do(of.GetInt64(at), of.GetInt64(at+longsBytes/2)); err != nil {
			return err
		}
	}
	return nil
}

func (c *claims) fields(of *flatbuffers.Table, slot flatbuffers.VOffsetT) error {
	if c.depth++; c.depth > maxFieldDepth {
		return fmt.Errorf("fields lie more than %d deep", maxFieldDepth)
	}
	defer func() { c.depth-- }()
	return c.each(of, slot, func(field *flatbuffers.Table) error {
		if err := c.text(field, fieldName); err != nil {
			return err
		}
		if err := c.pairs(field, fieldMetadata); err != nil {
			return err
		}
		return c.fields(field, fieldChildren)
	})
}

func (c *claims) pairs(of *flatbuffers.Table, slot flatbuffers.VOffsetT) error {
	return c.each(of, slot, func(pair *flatbuffers.Table) error {
		if err := c.text(pair, pairKey); err != nil {
			return err
		}
		return c.text(pair, pairValue)
	})
}

// each calls do for each table of a vector.
func (c *claims) each(of *flatbuffers.Table, slot flatbuffers.VOffsetT, do func(*flatbuffers.Table) error) error {
	offset := flatbuffers.UOffsetT(of.Offset(slot))
	if offset == 0 {
		return nil
	}
	count := of.VectorLen(offset)
	if err := c.claim(count, offsetBytes); err != nil {
		return err
	}
	first := of.Vector(offset)
	for i := range count {
		entry := flatbuffers.Table{Bytes: of.Bytes, Pos: of.Indirect(first + flatbuffers.UOffsetT(i*offsetBytes))} //nolint:gosec // claim has bounded it
		if err := do(&entry); err != nil {
			return err
		}
	}
	return nil
}

func (c *claims) text(of *flatbuffers.Table, slot flatbuffers.VOffsetT) error {
	offset := flatbuffers.UOffsetT(of.Offset(slot))
	if offset == 0 {
		return nil
	}
	return c.claim(of.VectorLen(offset), 1)
}

func (c *claims) claim(count, size int) error {
	if count < 0 || count > c.left/size {
		return fmt.Errorf("the metadata of an Arrow message claims %d entries of %d bytes, %d bytes are left", count, size, c.left)
	}
	c.left -= count * size
	return nil
}
