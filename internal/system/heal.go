package system

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"slices"
	"strings"

	"github.com/zeebo/xxh3"

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
	alone   bool     // nobody else writes to the tables
	left    []string // of the last time: to read all once more mends none of it
	defined string   // how tables and archive were when they had the same definitions
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
	refused := len(result.Left)
	h.tellLeft(ctx, a, result)
	h.left = slices.Clone(result.Left[refused:])
	return result, nil
}

// part is one of several parts of a store; the zero value is none of it.
type part struct{ index, of uint64 }

// check holds the ledgers of tables and archive against each other, reads that part of the archive and of the stream with
// checksums, and the definitions where they are others than at the last check. Where more lacks than the last healing left,
// it heals.
func (h *healer) check(ctx context.Context, p part) (*Healing, error) {
	result := &Healing{}
	if err := h.setAside(ctx, p, result); err != nil {
		return nil, err
	}
	a, err := h.client.take(ctx, caughtUpEvery, h.readPart(p), h.listArchive(p))
	if err != nil {
		return nil, err
	}
	h.tellLeft(ctx, a, result)
	if len(result.Left) == 0 {
		h.defined = a.defined
	}
	if !slices.ContainsFunc(result.Left, func(text string) bool { return !slices.Contains(h.left, text) }) {
		return result, nil
	}
	whole, err := h.heal(ctx)
	if err == nil {
		whole.Healed = append(result.Healed, whole.Healed...)
	}
	return whole, err
}

// start is the first check: quick, by ledgers alone, unless the archive is known to be damaged.
func (h *healer) start(ctx context.Context) (*Healing, error) {
	if h.archive.damaged {
		return h.heal(ctx)
	}
	return h.check(ctx, part{})
}

// readPart notes what cannot be read of a part of the stream, and what can.
func (h *healer) readPart(p part) reading {
	return func(ctx context.Context, a *account) error {
		if p.of == 0 {
			return nil
		}
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

// listArchive notes what the archive has by its manifest, and which definitions these are.
func (h *healer) listArchive(p part) reading {
	return func(ctx context.Context, a *account) error {
		err := h.archive.writer.Listed(func(batches []schemas.Batches, rows uint64) {
			a.archive.With(batches...)
			a.rows[runOf(batches[0])] += rows
		})
		if err != nil || p.of == 0 {
			return err
		}
		if a.defined, err = h.fingerprint(ctx, a); err != nil || a.defined == h.defined {
			return err
		}
		a.definitions = true
		for message, err := range archived(ctx, h.client.Endpoint.Archive, definitionKinds()...) {
			if err != nil {
				continue // of a damaged file the tables seem to lack the batches, so that all is read
			}
			if err := a.add(a.archive, message); err != nil {
				return err
			}
		}
		return ctx.Err()
	}
}

// fingerprint tells one state of the definitions in tables and archive from others.
func (h *healer) fingerprint(ctx context.Context, a *account) (string, error) {
	var state []string
	for _, table := range schemas.Tables() {
		if table.Class != schemas.Definition {
			continue
		}
		sum, err := clickhouse.KeysSum(ctx, h.client.database, table)
		if err != nil {
			return "", err
		}
		state = append(state, schemas.FormatID(sum))
	}
	for _, batches := range a.archive.All() {
		if table, known := schemas.TableByKind(batches.Kind); known && table.Class == schemas.Definition {
			state = append(state, batches.String())
		}
	}
	return schemas.FormatID(xxh3.HashString(strings.Join(state, "\n"))), nil
}

// definitionKinds are those of which the tables keep no batches.
func definitionKinds() []string {
	var kinds []string
	for _, table := range schemas.Tables() {
		if table.Class == schemas.Definition {
			kinds = append(kinds, table.Kind())
		}
	}
	return kinds
}

// setAside takes damaged files out of the archive, of which it reads a part.
func (h *healer) setAside(ctx context.Context, p part, result *Healing) error {
	if p.of == 0 {
		return nil
	}
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
	if err := h.removePartial(ctx, a, result); err != nil {
		return err
	}
	if err := h.mendTables(ctx, a.tablesLack().With(a.partial.All()...), result); err != nil {
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

// tellLeft says what is not whole.
func (h *healer) tellLeft(ctx context.Context, a *account, result *Healing) {
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
	if a.streamDamaged != nil {
		result.Left = append(result.Left, fmt.Sprintf("the stream is damaged, tables and archive keep what they have of it: %v", a.streamDamaged))
	}
	for _, file := range a.filesDamaged {
		result.Left = append(result.Left, fmt.Sprintf("the archive is damaged: %v", file))
	}
}
