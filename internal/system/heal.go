package system

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/tensortap/tensortap/consumers/clickhouse"
	"github.com/tensortap/tensortap/pipelines"
	"github.com/tensortap/tensortap/schemas"
)

// Healing is what came of holding the stores against each other and mending each from the others, in words.
type Healing struct {
	Healed []string `json:"healed,omitempty"`
	Left   []string `json:"left,omitempty"`  // what still lacks or is damaged, and why
	Error  string   `json:"error,omitempty"` // why it is not known whether all is whole

	Refused string `json:"refused,omitempty"` // what the tables can never take, dead letters, by run and kind
}

// healer mends the stores of a running system. It writes by the writers that the deliveries use, and these know what is
// stored, so nothing is stored twice. It is not safe for use by several goroutines.
type healer struct {
	client  *Client
	archive *archive
	tables  *clickhouse.Writer
	alone   bool     // nobody else writes to the tables
	left    []string // what lacked when a healing mended nothing: to read all once more mends none of it
	defined string   // how tables and archive were when they had the same definitions
	since   time.Time
	told    map[string]bool // parts of tables that the engine moved away since then
}

// heal reads all of the stream and of the archive, and mends. Beside an error stands what was done before it.
func (h *healer) heal(ctx context.Context) (*Healing, error) {
	result := &Healing{}
	return result, h.healAll(ctx, result)
}

func (h *healer) healAll(ctx context.Context, result *Healing) error {
	if err := h.setAside(ctx, part{0, 1}, result); err != nil {
		return err
	}
	if err := h.setPartsAside(ctx, part{0, 1}, result); err != nil {
		return err
	}
	a, err := h.client.take(ctx, 10*waitEvery, h.client.readStream, h.client.readArchive)
	if err != nil {
		return err
	}
	if err := h.mend(ctx, a, result); err != nil {
		return err
	}
	reclaimed, err := h.client.Reclaim(ctx)
	if err != nil {
		return err
	}
	if text := reclaimed.String(); text != "" {
		result.Healed = append(result.Healed, "the stream's server knows again, from the tables: "+text)
	}
	if len(result.Healed) > 0 {
		if a, err = h.client.take(ctx, 10*waitEvery, h.client.readStream, h.client.readArchive); err != nil {
			return err
		}
	}
	h.tellLack(ctx, a, result)
	h.tellLost(ctx, a, result)
	result.Refused = h.client.describe(ctx, a.tablesRefused())
	h.left = nil // after a healing that mended, the rest may have been lost meanwhile
	if len(result.Healed) == 0 {
		h.left = slices.Clone(result.Left)
	}
	return nil
}

// mend fills each store from the others. Where others write to the tables, they may be mending the same, so nothing is removed.
func (h *healer) mend(ctx context.Context, a *account, result *Healing) error {
	tablesLack := a.tablesLack()
	if h.alone {
		if err := h.removePartial(ctx, a, result); err != nil {
			return err
		}
		tablesLack.With(a.partial.All()...)
	}
	if err := h.mendTables(ctx, tablesLack, result); err != nil {
		return err
	}
	lack := a.archiveLacks().With(h.archive.writer.Missing()...)
	if h.alone {
		lack.With(a.onlyInTables().All()...)
	}
	return h.mendArchive(ctx, lack, result)
}

// removePartial makes room in the tables for batches whose rows are not those that were stored.
func (h *healer) removePartial(ctx context.Context, a *account, result *Healing) error {
	if a.partial.Count() == 0 {
		return nil
	}
	result.Healed = append(result.Healed, "the tables had other rows of batches than were stored, which are written anew: "+h.client.describe(ctx, a.partial))
	return clickhouse.Remove(ctx, h.client.database, a.partial.All())
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

// tellLack says what one store lacks, or has otherwise, that another may have.
func (h *healer) tellLack(ctx context.Context, a *account, result *Healing) {
	note := func(what string, lack *schemas.Ledger) {
		if text := h.client.describe(ctx, lack); text != "" {
			result.Left = append(result.Left, what+text)
		}
	}
	note("the tables lack ", a.tablesLack())
	note("the tables have other rows than were stored of ", a.partial)
	lost := schemas.NewLedger().With(h.archive.writer.Missing()...).Without(a.stream)
	note("the archive lost, and neither stream nor tables can make again, ", lost)
	note("the archive lacks ", a.archiveLacks())
	if h.alone {
		note("only the tables have ", a.onlyInTables().Without(lost))
	}
}

// tellLost says what no healing mends, however often.
func (h *healer) tellLost(ctx context.Context, a *account, result *Healing) {
	if text := h.client.describeVanished(ctx, a); text != "" {
		result.Left = append(result.Left, "published, and lost before any store had it, publish it again: "+text)
	}
	if a.streamDamaged != nil {
		result.Left = append(result.Left, fmt.Sprintf("the stream is damaged, tables and archive keep what they have of it: %v", a.streamDamaged))
	}
	for _, file := range a.filesDamaged {
		result.Left = append(result.Left, fmt.Sprintf("the archive is damaged: %v", file))
	}
}
