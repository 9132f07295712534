package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"

	"github.com/tensortap/tensortap/internal/plural"
	"github.com/tensortap/tensortap/internal/system"
	"github.com/tensortap/tensortap/sql"
)

func (e *examination) database(ctx context.Context, endpoint system.Endpoint) error {
	client, err := system.ConnectDatabase(ctx, endpoint, e.in.Now)
	if err != nil {
		return err
	}
	defer client.Close()
	version, err := client.Table(ctx, "SELECT version() AS version", nil)
	if err != nil {
		return err
	}
	e.well("database", "ClickHouse %s answers", version.Get(0, "version").Exact)
	if err := e.migrations(ctx, client); err != nil {
		return err
	}
	return errors.Join(e.parts(ctx, client), e.detached(ctx, client), e.judging(ctx, client))
}

// migrations holds what was applied to the database against what this program has.
func (e *examination) migrations(ctx context.Context, client *system.Client) error {
	applied, err := client.Table(ctx, "SELECT name FROM tap_store.migration FINAL", nil)
	if err != nil {
		e.wrong("tables", "start a system or a consumer, which makes them: tensortap up", "the database has none of ours: %v", err)
		return nil
	}
	known, err := fs.Glob(sql.Files, "tables/*.sql")
	if err != nil {
		return err
	}
	lacking := map[string]bool{}
	for _, name := range known {
		lacking[path.Base(name)] = true
	}
	newer := map[string]bool{}
	for i := range applied.Rows {
		name := applied.Get(i, "name").Exact
		if !lacking[name] {
			newer[name] = true
		}
		delete(lacking, name)
	}
	e.tellMigrations(ctx, client, lacking, newer)
	return nil
}

func (e *examination) tellMigrations(ctx context.Context, client *system.Client, lacking, newer map[string]bool) {
	switch {
	case len(newer) > 0:
		e.wrong("tables", "use that version of tensortap here, too", "they were made by a newer version, which has %s", names(newer))
	case len(lacking) > 0:
		e.wrong("tables", "start the system again with this version", "they are those of an older version, and lack %s", names(lacking))
	default:
		if err := client.CheckTables(ctx); err != nil {
			e.wrong("tables", "start the system again with this version", "%v", err)
			return
		}
		e.well("tables", "they are those of this version")
	}
}

// mostParts is how many parts of a partition are too many: the database slows INSERTs down from 1,000 on, and refuses them
// from 3,000.
const mostParts = 500

const partsQuery = `SELECT table, partition, count() AS part_count
FROM system.parts
WHERE database = 'tap_store' AND active
GROUP BY table, partition
ORDER BY part_count DESC, table, partition
LIMIT 1`

func (e *examination) parts(ctx context.Context, client *system.Client) error {
	most, err := client.Table(ctx, partsQuery, nil)
	if err != nil {
		return err
	}
	if len(most.Rows) == 0 {
		e.well("parts", "the tables are empty")
		return nil
	}
	count, err := strconv.Atoi(most.Get(0, "part_count").Exact)
	if err != nil {
		return fmt.Errorf("read the number of parts: %w", err)
	}
	table := most.Get(0, "table").Exact
	if count > mostParts {
		e.wrong("parts", "give the database more processors, or publish in larger batches: it merges parts more slowly than they come", "a partition of table %s has %d parts", table, count)
		return nil
	}
	e.well("parts", "%d in a partition at most, of table %s", count, table)
	return nil
}

func (e *examination) detached(ctx context.Context, client *system.Client) error {
	found, err := client.Detached(ctx)
	if err != nil {
		return err
	}
	if len(found) > 0 {
		e.wrong("parts", "tensortap verify --heal stores their rows again", "the database could not load %s of its tables, the first is %s", plural.Of(len(found), "part"), found[0].String())
	}
	return nil
}
