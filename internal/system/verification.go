package system

import (
	"context"
)

// Verification says how the stream, the tables and the archive stand to each other.
type Verification struct {
	Stream, Tables, Archive uint64 // batches; the tables have those of definitions of which they have all rows
	// What each lacks that another has, by run and kind; empty where it lacks nothing. The stream keeps all for some days
	// only.
	TablesLack, ArchiveLacks string
	TablesDiffer             string // batches of which the tables have another number of rows than the archive
	OnlyInTables             string // also what others write to the same database
	StreamDamaged            error  // why the stream cannot be read whole
	FilesDamaged             []error
}

// Whole says whether nothing is lost and nothing damaged.
func (v *Verification) Whole() bool {
	return v.TablesLack+v.TablesDiffer == "" && v.ArchiveLacks+v.OnlyInTables == "" && v.StreamDamaged == nil && len(v.FilesDamaged) == 0
}

// Verify reads the whole stream and the whole archive with their checksums, and holds the batches of both and of the tables
// against each other. Events may land meanwhile.
func (c *Client) Verify(ctx context.Context) (*Verification, error) {
	a, err := c.take(ctx, 10*waitEvery, c.readStream, c.readArchive)
	if err != nil {
		return nil, err
	}
	return &Verification{
		Stream: a.stream.Count(), Tables: a.tables.Count(), Archive: a.archive.Count(),
		TablesLack: c.describe(ctx, a.tablesLack()), ArchiveLacks: c.describe(ctx, a.archiveLacks()),
		TablesDiffer: c.describe(ctx, a.partial),
		OnlyInTables: c.describe(ctx, a.onlyInTables()), StreamDamaged: a.streamDamaged, FilesDamaged: a.filesDamaged,
	}, nil
}
