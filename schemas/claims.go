package schemas

import (
	"fmt"

	flatbuffers "github.com/google/flatbuffers/go"
)

// Slots of the tables of Arrow's format, as Message.fbs and Schema.fbs of Arrow 1.5 number them.
const (
	messageHeaderType = 6
	messageHeader     = 8
	messageMetadata   = 12
	schemaFields      = 6
	schemaMetadata    = 8
	fieldName         = 4
	fieldChildren     = 14
	fieldMetadata     = 16
	pairKey           = 4
	pairValue         = 6

	headerIsSchema = 1
	offsetBytes    = 4
)

// claims counts the bytes that the metadata of an Arrow message claims to hold. arrow-go allocates as much as a length
// claims, and a Go program that runs out of memory cannot be recovered. Each entry and each text has bytes of its own, so
// all of them together are no longer than the metadata.
type claims struct{ left int }

// checkClaims refuses metadata that claims more than it is. It may panic on bytes that are no metadata at all.
func checkClaims(metadata []byte) error {
	c := claims{left: len(metadata)}
	message := flatbuffers.Table{Bytes: metadata, Pos: flatbuffers.GetUOffsetT(metadata)}
	if err := c.pairs(&message, messageMetadata); err != nil {
		return err
	}
	offset := flatbuffers.UOffsetT(message.Offset(messageHeader))
	if offset == 0 || message.GetByteSlot(messageHeaderType, 0) != headerIsSchema {
		return nil
	}
	var schema flatbuffers.Table
	message.Union(&schema, offset)
	if err := c.pairs(&schema, schemaMetadata); err != nil {
		return err
	}
	return c.fields(&schema, schemaFields)
}

func (c *claims) fields(of *flatbuffers.Table, slot flatbuffers.VOffsetT) error {
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
