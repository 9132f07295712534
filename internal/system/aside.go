package system

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/tensortap/tensortap/consumers/clickhouse"
)

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

// setPartsAside takes damaged parts out of the tables, of which it reads a share. They stay in the tables' folders detached.
func (h *healer) setPartsAside(ctx context.Context, p part, result *Healing) error {
	if p.of == 0 {
		return nil
	}
	damaged, err := clickhouse.Damaged(ctx, h.client.database, p.index, p.of)
	if err == nil {
		err = h.detach(ctx, damaged, result)
	}
	if err != nil {
		return err
	}
	return h.noteDetached(ctx, result)
}

// detach moves parts away that other places have the rows of, and names the others.
func (h *healer) detach(ctx context.Context, damaged []clickhouse.Damage, result *Healing) error {
	for _, d := range damaged {
		if !h.alone || !clickhouse.Filled(d.Table) {
			result.Left = append(result.Left, fmt.Sprintf("the tables are damaged: %v", d))
			continue
		}
		if err := clickhouse.Detach(ctx, h.client.database, d); err != nil {
			return err
		}
		result.Healed = append(result.Healed, fmt.Sprintf("a damaged part was moved to the folder detached of its table: %v", d))
	}
	return nil
}

// noteDetached names once what the engine moved away as it started.
func (h *healer) noteDetached(ctx context.Context, result *Healing) error {
	detached, err := clickhouse.DetachedByEngine(ctx, h.client.database, h.since)
	for _, d := range detached {
		if !h.told[d.String()] {
			h.told[d.String()] = true
			result.Healed = append(result.Healed, "a part of a table was damaged: "+d.String())
		}
	}
	return err
}
