package system

import (
	"context"
	"slices"
	"strings"

	"github.com/zeebo/xxh3"

	"github.com/tensortap/tensortap/consumers/clickhouse"
	"github.com/tensortap/tensortap/schemas"
)

// part is one of several parts of a store; the zero value is none of it.
type part struct{ index, of uint64 }

// check holds the ledgers of tables and archive against each other, reads that part of the archive and of the stream with
// checksums, and the definitions where they are others than at the last check. Where more lacks than the last healing left,
// or damage to a part that it did not read keeps it from an answer, it heals. Beside an error stands what was done before it.
func (h *healer) check(ctx context.Context, p part) (*Healing, error) {
	result := &Healing{}
	wanting, err := h.look(ctx, p, result)
	if err != nil {
		wanting = h.alone && clickhouse.Unreadable(err)
	}
	if !wanting {
		return result, err
	}
	whole, err := h.heal(ctx)
	whole.Healed = append(result.Healed, whole.Healed...)
	return whole, err
}

// look takes away what is damaged, and says what is not whole, and whether a healing may mend some of that.
func (h *healer) look(ctx context.Context, p part, result *Healing) (bool, error) {
	if err := h.setAside(ctx, p, result); err != nil {
		return false, err
	}
	files := len(result.Healed)
	if err := h.setPartsAside(ctx, p, result); err != nil {
		return false, err
	}
	moved := len(result.Healed) > files
	a, err := h.client.take(ctx, caughtUpEvery, h.readPart(p), h.listArchive(p))
	if err != nil {
		return false, err
	}
	h.tellLack(ctx, a, result)
	wanting := moved || slices.ContainsFunc(result.Left, func(text string) bool { return !slices.Contains(h.left, text) })
	h.tellLost(ctx, a, result)
	if len(result.Left) == 0 {
		h.defined = a.defined
	}
	return wanting, nil
}

// knowsDamage says whether the start found damage to archive or tables.
func (h *healer) knowsDamage(ctx context.Context) (bool, error) {
	detached, err := clickhouse.DetachedByEngine(ctx, h.client.database, h.since)
	return h.archive.damaged || len(detached) > 0, err
}

// readPart notes what cannot be read of a part of the stream, and what can.
func (h *healer) readPart(p part) reading {
	return func(ctx context.Context, a *account) error {
		if p.of == 0 {
			return nil
		}
		state, err := h.client.lookAtStream(ctx, a)
		if err != nil {
			return err
		}
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
		if table.Class != schemas.Definition || !clickhouse.Filled(table.Kind()) {
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
