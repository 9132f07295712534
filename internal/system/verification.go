package system

import (
	"context"
	"errors"
	"time"

	"github.com/tensortap/tensortap/consumers/clickhouse"
)

// Verification says how the stream, the tables and the archive stand to each other.
type Verification struct {
	Stream, Tables, Archive uint64 // batches; the tables have those of definitions of which they have all rows
	ArchiveIn               string // the folder; empty where no archive that is filled from the stream is on this host
	// What each lacks that another has, by run and kind; empty where it lacks nothing. The stream keeps all for some days
	// only.
	TablesLack, ArchiveLacks string
	TablesDiffer             string // batches of which the tables have another number of rows than the archive
	OnlyInTables             string // also what others write to the same database
	TablesRefused            uint64 // batches that stream or archive has and the tables cannot take: dead letters
	Refused                  string // these, by run and kind
	Vanished                 string // what was published of files, and no store has
	StreamDamaged            error  // why the stream cannot be read whole
	FilesDamaged             []error
	PartsDamaged             []error // of tables; TablesLack has what lies in them
}

// Whole says whether nothing is lost and nothing damaged.
func (v *Verification) Whole() bool {
	return v.TablesLack+v.TablesDiffer == "" && v.ArchiveLacks+v.OnlyInTables+v.Vanished == "" && v.StreamDamaged == nil && len(v.FilesDamaged)+len(v.PartsDamaged) == 0
}

// Mendable says whether a store lacks or has damaged what another may have.
func (v *Verification) Mendable() bool {
	return v.TablesLack+v.TablesDiffer+v.ArchiveLacks+v.OnlyInTables != "" || len(v.FilesDamaged)+len(v.PartsDamaged) > 0
}

// TablesDamaged says whether a question failed over damaged files of a table.
func TablesDamaged(err error) bool { return clickhouse.Unreadable(err) }

// Verify reads the whole stream, the whole archive and all parts of the tables with their checksums, and holds their batches
// against each other. Events may land meanwhile.
func (c *Client) Verify(ctx context.Context) (*Verification, error) {
	if err := c.requireFilled(ctx); err != nil {
		return nil, err
	}
	a, err := c.take(ctx, 10*waitEvery, c.readParts(c.readStream), c.readArchive)
	if err != nil {
		return nil, err
	}
	refused := a.tablesRefused()
	v := &Verification{
		Stream: a.stream.Count(), Tables: a.tables.Count(), Archive: a.archive.Count(), ArchiveIn: a.archiveIn,
		TablesLack: c.describe(ctx, a.tablesLack()), ArchiveLacks: c.describe(ctx, a.archiveLacks()),
		TablesDiffer:  c.describe(ctx, a.partial),
		TablesRefused: refused.Count(), Refused: c.describe(ctx, refused),
		OnlyInTables: c.describe(ctx, a.onlyInTables()), Vanished: c.describeVanished(ctx, a), StreamDamaged: a.streamDamaged, FilesDamaged: a.filesDamaged,
	}
	if v.TablesLack != "" { // those of which other parts have the rows again are of no interest
		detached, err := clickhouse.DetachedByEngine(ctx, c.database, time.Unix(0, 0))
		if err != nil {
			return nil, err
		}
		a.partsDamaged = append(a.partsDamaged, detached...)
	}
	for _, d := range a.partsDamaged {
		v.PartsDamaged = append(v.PartsDamaged, errors.New(d.String()))
	}
	return v, nil
}
