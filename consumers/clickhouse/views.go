package clickhouse

import (
	"context"
	"encoding/binary"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/zeebo/xxh3"
)

// A view's comment ends with a hash of all that it was made from, so that the
// database itself says which views are out of date.

// applyViews makes the views in the order of their layers, then the reports.
func (s *state) applyViews(ctx context.Context, conn driver.Conn, files fs.FS, tables []script) error {
	views, err := readScripts(files, "views")
	if err != nil {
		return err
	}
	reports, err := readScripts(files, "reports")
	if err != nil {
		return err
	}
	made := make(map[string]bool)
	var sources []byte // checksums of all that a view may read
	for _, file := range tables {
		sources = binary.BigEndian.AppendUint64(sources, file.checksum)
	}
	for _, file := range slices.Concat(views, reports) {
		sources = binary.BigEndian.AppendUint64(sources, file.checksum)
		made[file.object()] = true
		comment := viewComment(file, xxh3.Hash(sources))
		if s.views[file.object()] == comment {
			continue
		}
		if err := conn.Exec(ctx, createView(file, comment)); err != nil {
			return fmt.Errorf("make view %s.%s of sql/…/%s: %w", viewDatabase, file.object(), file.name, err)
		}
	}
	return s.dropOthers(ctx, conn, made)
}

// dropOthers drops the views made from files that are no more. Views that
// people made have no such comment.
func (s *state) dropOthers(ctx context.Context, conn driver.Conn, made map[string]bool) error {
	for name, comment := range s.views {
		if made[name] || !strings.Contains(comment, commentMark) {
			continue
		}
		if err := conn.Exec(ctx, "DROP VIEW IF EXISTS "+viewDatabase+".`"+name+"`"); err != nil {
			return fmt.Errorf("drop view %s.%s: %w", viewDatabase, name, err)
		}
	}
	return nil
}

const commentMark = " (made by tensortap from "

// viewComment is the file's question and hash.
func viewComment(file script, hash uint64) string {
	question := ""
	for line := range strings.Lines(file.text) {
		if rest, found := strings.CutPrefix(line, "-- Question:"); found {
			question = strings.TrimSpace(rest)
			break
		}
	}
	return fmt.Sprintf("%s%s%s, %016x)", question, commentMark, file.name, hash)
}

// createView is the statement that makes the view of the file's SELECT.
func createView(file script, comment string) string {
	return "CREATE OR REPLACE VIEW " + viewDatabase + ".`" + file.object() + "` AS\n" +
		strings.TrimRight(strings.TrimSpace(file.text), ";") + "\nCOMMENT " + quote(comment)
}

func quote(text string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(text) + "'"
}
