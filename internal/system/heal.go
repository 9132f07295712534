package system

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"

	"github.com/tensortap/tensortap/consumers/clickhouse"
	"github.com/tensortap/tensortap/pipelines"
	"github.com/tensortap/tensortap/schemas"
)

// Healing is what came of holding the stores against each other and mending each from the others, in words.
type Healing struct {
	Healed []string `json:"healed,omitempty"`
	Left   []string `json:"left,omitempty"`  // what still lacks or is damaged, and why
	Error  string   `json:"error,omitempty"` // why it is not known whether all is whole
}

// healer mends the stores of a running system. It writes by the writers that the deliveries use, and these know what is
// stored, so nothing is stored twice. It is not safe for use by several goroutines.
type healer struct {
	client  *Client
	archive *archive
	tables  *clickhouse.Writer
	alone   bool // nobody else writes to the tables
}

// heal reads all of the stream and of the archive, and mends.
func (h *healer) heal(ctx context.Context) (*Healing, error) {
	result := &Healing{}
	if err := h.setAside(ctx, part{0, 1}, result); err != nil {
		return nil, err
	}
	a, err := h.client.take(ctx, 10*waitEvery, h.client.readStream, h.client.readArchive)
	if err != nil {
		return nil, err
	}
	if err := h.mend(ctx, a, result); err != nil {
		return nil, err
	}
	reclaimed, err := h.client.Reclaim(ctx)
	if err != nil {
		return nil, err
	}
	if text := reclaimed.String(); text != "" {
		result.Healed = append(result.Healed, "the stream's server knows again, from the tables: "+text)
	}
	if len(result.Healed) > 0 {
		if a, err = h.client.take(ctx, 10*waitEvery, h.client.readStream, h.client.readArchive); err != nil {
			return nil, err
		}
	}
	h.tellLeft(ctx, a, result)
	return result, nil
}

// part is one of several parts of a store.
type part struct{ index, of uint64 }

// check holds tables and archive against each other, reads that part of the archive and of the stream with checksums, and
// mends what lacks.
func (h *healer) check(ctx context.Context, p part) (*Healing, error) {
	result := &Healing{}
	if err := h.setAside(ctx, p, result); err != nil {
		return nil, err
	}
	a, err := h.client.take(ctx, caughtUpEvery, h.readPart(p), h.listArchive)
	if err != nil {
		return nil, err
	}
	if a.tablesLack().Count() > 0 { // then they may lack definitions, too, which only a whole reading tells
		whole, err := h.heal(ctx)
		if err == nil {
			whole.Healed = append(result.Healed, whole.Healed...)
		}
		return whole, err
	}
	if err := h.mend(ctx, a, result); err != nil {
		return nil, err
	}
	if len(result.Healed) > 0 {
		if a, err = h.client.take(ctx, caughtUpEvery, h.readPart(p), h.listArchive); err != nil {
			return nil, err
		}
	}
	h.tellLeft(ctx, a, result)
	return result, nil
}

// readPart notes what cannot be read of a part of the stream, and what can.
func (h *healer) readPart(p part) reading {
	return func(ctx context.Context, a *account) error {
		stream, err := h.client.stream.Stream(ctx, pipelines.StreamName)
		if err != nil {
			return fmt.Errorf("look at the stream: %w", err)
		}
		state := stream.CachedInfo().State
		width := (state.LastSeq-state.FirstSeq)/p.of + 1
		from := state.FirstSeq + p.index*width
		if state.Msgs == 0 || from > state.LastSeq {
			return nil
		}
		return h.client.readBetween(ctx, a, from, min(from+width-1, state.LastSeq))
	}
}

// listArchive notes what the archive has by its manifest.
func (h *healer) listArchive(_ context.Context, a *account) error {
	a.archive = h.archive.writer.Held().Clone()
	return nil
}

// setAside takes damaged files out of the archive, of which it reads a part.
func (h *healer) setAside(ctx context.Context, p part, result *Healing) error {
	damaged, err := h.archive.writer.VerifyPart(ctx, p.index, p.of)
	for _, file := range damaged {
		what := "a damaged file of the archive was moved to its folder quarantine"
		if errors.Is(file, fs.ErrNotExist) {
			what = "a file of the archive was gone"
		}
		result.Healed = append(result.Healed, fmt.Sprintf("%s: %v", what, file))
	}
	return err
}

// mend fills each store from the others.
func (h *healer) mend(ctx context.Context, a *account, result *Healing) error {
	if err := h.mendTables(ctx, a.tablesLack(), result); err != nil {
		return err
	}
	lack := a.archiveLacks().With(h.archive.writer.Missing()...)
	if h.alone {
		lack.With(a.onlyInTables().All()...)
	}
	return h.mendArchive(ctx, lack, result)
}

// mendTables stores what the tables lack, as the archive has it, and else the stream.
func (h *healer) mendTables(ctx context.Context, lack *schemas.Ledger, result *Healing) error {
	files := newPour(h.tables.Write, lack)
	if err := files.fill(ctx, whole(archived(ctx, h.client.Endpoint.Archive, lack.Kinds()...))); err != nil {
		return fmt.Errorf("store what the tables lack: %w", err)
	}
	h.tell(ctx, result, "the tables have again, from the archive: ", files)
	stream := newPour(h.tables.Write, lack)
	if err := stream.fill(ctx, h.streamed(ctx, lack)); err != nil {
		return fmt.Errorf("store what the tables lack: %w", err)
	}
	h.tell(ctx, result, "the tables have again, from the stream: ", stream)
	return nil
}

// mendArchive stores what the archive lacks, as the stream has it, and else the tables.
func (h *healer) mendArchive(ctx context.Context, lack *schemas.Ledger, result *Healing) error {
	stream := newPour(h.archive.writer.Write, lack)
	if err := stream.fill(ctx, h.streamed(ctx, lack)); err != nil {
		return fmt.Errorf("store what the archive lacks: %w", err)
	}
	h.tell(ctx, result, "the archive has again, from the stream: ", stream)
	tables := newPour(h.archive.writer.Write, lack)
	if err := tables.fill(ctx, clickhouse.Stored(ctx, h.client.database, measurements(lack.All()))); err != nil {
		return fmt.Errorf("store what the archive lacks: %w", err)
	}
	h.tell(ctx, result, "the archive has again, from the tables: ", tables)
	return nil
}

// streamed is all of the stream, where anything is wanted.
func (h *healer) streamed(ctx context.Context, wanted *schemas.Ledger) iter.Seq2[schemas.Message, error] {
	if wanted.Count() == 0 {
		return func(func(schemas.Message, error) bool) {}
	}
	return pipelines.Kept(ctx, h.client.stream, 1, 0)
}

func (h *healer) tell(ctx context.Context, result *Healing, what string, p *pour) {
	if text := h.client.describe(ctx, p.stored); text != "" {
		result.Healed = append(result.Healed, what+text)
	}
	result.Left = append(result.Left, p.refused...)
}

// tellLeft says what is not whole.
func (h *healer) tellLeft(ctx context.Context, a *account, result *Healing) {
	note := func(what string, lack *schemas.Ledger) {
		if text := h.client.describe(ctx, lack); text != "" {
			result.Left = append(result.Left, what+text)
		}
	}
	note("the tables lack ", a.tablesLack())
	lost := schemas.NewLedger().With(h.archive.writer.Missing()...).Without(a.stream)
	note("the archive lost, and neither stream nor tables can make again, ", lost)
	note("the archive lacks ", a.archiveLacks())
	if h.alone {
		note("only the tables have ", a.onlyInTables().Without(lost))
	}
	if a.streamDamaged != nil {
		result.Left = append(result.Left, fmt.Sprintf("the stream is damaged, tables and archive keep what they have of it: %v", a.streamDamaged))
	}
	for _, file := range a.filesDamaged {
		result.Left = append(result.Left, fmt.Sprintf("the archive is damaged: %v", file))
	}
}
