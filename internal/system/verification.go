package system

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/tensortap/tensortap/consumers/clickhouse"
	"github.com/tensortap/tensortap/pipelines"
	"github.com/tensortap/tensortap/schemas"
)

// Verification says how the stream, the tables and the archive stand to each other.
type Verification struct {
	Stream, Tables, Archive uint64 // batches; of the tables only measurements, since definitions carry no batch
	// What each lacks that another has, by run and kind; empty where it lacks nothing. The stream keeps all for some days
	// only.
	TablesLack, ArchiveLacks string
	OnlyInTables             string // also what others write to the same database
	StreamDamaged            error  // why the stream cannot be read whole
	FilesDamaged             []error
}

// Whole says whether nothing is lost and nothing damaged.
func (v *Verification) Whole() bool {
	return v.TablesLack == "" && v.ArchiveLacks+v.OnlyInTables == "" && v.StreamDamaged == nil && len(v.FilesDamaged) == 0
}

// Verify reads the whole stream and the whole archive with their checksums, and holds the batches of both and of the tables
// against each other. Events may land meanwhile: each store is read after what it must have.
func (c *Client) Verify(ctx context.Context) (*Verification, error) {
	var v Verification
	stream, err := c.readStream(ctx, &v)
	if err != nil {
		return nil, err
	}
	before, err := c.heldTables(ctx, 10*waitEvery)
	if err != nil {
		return nil, err
	}
	if err := pipelines.WaitStored(ctx, c.stream, 0, 10*waitEvery, archiveConsumer); err != nil {
		return nil, err
	}
	archive, err := c.readArchive(ctx, &v)
	if err != nil {
		return nil, err
	}
	tables, err := c.heldTables(ctx, 10*waitEvery)
	if err != nil {
		return nil, err
	}
	v.Stream, v.Tables, v.Archive = stream.Count(), tables.Count(), archive.Count()
	v.TablesLack = c.describe(ctx, measurements(append(tables.LacksOf(archive), tables.LacksOf(stream)...)))
	v.ArchiveLacks = c.describe(ctx, archive.LacksOf(stream))
	v.OnlyInTables = c.describe(ctx, archive.LacksOf(before))
	return &v, nil
}

// readStream is the set of batches in the stream; empty where it cannot be read whole.
func (c *Client) readStream(ctx context.Context, v *Verification) (*schemas.Ledger, error) {
	stream, err := c.stream.Stream(ctx, pipelines.StreamName)
	if err != nil {
		return nil, fmt.Errorf("look at the stream: %w", err)
	}
	if gone := stream.CachedInfo().State.NumDeleted; gone > 0 {
		v.StreamDamaged = fmt.Errorf("%d messages are gone from its midst", gone)
	}
	held, err := pipelines.Held(ctx, c.stream)
	if errors.Is(err, pipelines.ErrUnreadable) {
		v.StreamDamaged = errors.Join(v.StreamDamaged, err)
		return schemas.NewLedger(), nil
	}
	return held, err
}

// heldTables is the set of batches in the tables, once they have what the stream holds now. Every is how often it asks.
func (c *Client) heldTables(ctx context.Context, every time.Duration) (*schemas.Ledger, error) {
	if err := pipelines.WaitStored(ctx, c.stream, 0, every, databaseConsumer); err != nil {
		return nil, err
	}
	return clickhouse.Held(ctx, c.database)
}

func (c *Client) readArchive(ctx context.Context, v *Verification) (*schemas.Ledger, error) {
	archive := schemas.NewLedger()
	for message, err := range archived(ctx, c.Endpoint.Archive) {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil {
			v.FilesDamaged = append(v.FilesDamaged, err)
			continue
		}
		archive.Add(schemas.BatchOf(message.Header.Kind, message.Header.Identity))
	}
	return archive, nil
}

// measurements are those of the batches that tables know by their batch.
func measurements(batches []schemas.Batches) []schemas.Batches {
	return slices.DeleteFunc(batches, func(b schemas.Batches) bool {
		table, known := schemas.TableByKind(b.Kind)
		return !known || table.Class != schemas.Measurement
	})
}
